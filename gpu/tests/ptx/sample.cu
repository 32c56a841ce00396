// The source of sample.ptx: NVRTC 13.0.88, --gpu-architecture=compute_75 -lineinfo.
__device__ __forceinline__ float warp_sum(float v){ for(int o=16;o;o>>=1) v+=__shfl_xor_sync(0xffffffffu,v,o); return v;}
extern "C" __global__ void __launch_bounds__(128) gdn_step(const float* __restrict__ q,const float* __restrict__ k,const float* __restrict__ v,const float* __restrict__ beta,const float* __restrict__ decay,float* __restrict__ S,float* __restrict__ o,int D,int HK){
  int h=blockIdx.x, lane=threadIdx.x&31, row=blockIdx.y*4+(threadIdx.x>>5);
  if(row>=D) return;
  int hk=h%HK; const float*kk=k+(long long)hk*D; const float*qq=q+(long long)hk*D; float*s=S+((long long)h*D+row)*D;
  float r[8]; float kr[8]; float dot=0; float a=decay[h];
#pragma unroll
  for(int i=0;i<8;i++){int j=lane+32*i; r[i]=0;kr[i]=0; if(j<D){r[i]=a*s[j];kr[i]=kk[j];dot=fmaf(r[i],kr[i],dot);}}
  dot=warp_sum(dot);
  float d=beta[h]*(v[(long long)h*D+row]-dot); float out=0;
#pragma unroll
  for(int i=0;i<8;i++){int j=lane+32*i; if(j<D){r[i]=fmaf(d,kr[i],r[i]); s[j]=r[i]; out=fmaf(r[i],qq[j],out);}}
  out=warp_sum(out);
  if(lane==0) o[(long long)h*D+row]=out/sqrtf((float)D);
}
__device__ __noinline__ float blocksum(float v){ __shared__ float sh[32]; v=warp_sum(v); int w=threadIdx.x>>5; if((threadIdx.x&31)==0) sh[w]=v; __syncthreads(); float t=0; for(int i=0;i<(blockDim.x+31)/32;i++) t+=sh[i]; __syncthreads(); return t;}
extern "C" __global__ void gate_norm(const float*z,const float*gn,const float*o,float*out,int D,float eps){
  int h=blockIdx.x,i=threadIdx.x; float x=i<D?o[h*D+i]:0.f; float ss=blocksum(x*x); if(i<D){float zz=z[h*D+i]; out[h*D+i]=gn[i]*x*rsqrtf(ss/D+eps)*zz/(1.f+expf(-zz));}}
extern "C" __global__ void misc(float*x,int*p,double*dd,long long n){ float v=x[threadIdx.x]; v=powf(v,1.3f)+sinf(v)+log1pf(v)+tanhf(v)+v/3.7f; x[threadIdx.x]=v; dd[threadIdx.x]=exp((double)v)/dd[3]+sin(dd[0])+pow(dd[1],0.3); atomicAdd(p,1);  float4 f=((float4*)x)[threadIdx.x]; char4 c; c.x=__float2int_rn(f.x); c.y=__float2int_rn(f.y);c.z=rintf(f.z);c.w=f.w; ((char4*)p)[threadIdx.x+64]=c; x[threadIdx.x]=__popc(p[3])+__clz(p[4])+p[6]/p[7]+p[8]%p[9]+n/p[7];}
