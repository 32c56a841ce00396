//! The vocabulary of contracts: what a kernel takes, how it is launched, where it is defined and how exact it must be. All data.
