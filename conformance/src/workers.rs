//! Work over the machine's cores: each thread owns what it works with and takes the next item when it is free.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Error;

/// How many threads there is work for.
pub fn threads(items: usize) -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(items).max(1)
}

/// Works on all items and returns the results in the items' order, and the workers with what they have gathered.
///
/// # Errors
/// The first error of an item.
pub fn share<T: Sync, W: Send, R: Send>(
    items: &[T],
    workers: Vec<W>,
    work: impl Fn(&mut W, usize, &T) -> Result<R, Error> + Sync,
) -> Result<(Vec<R>, Vec<W>), Error> {
    let next = AtomicUsize::new(0);
    let (next, work) = (&next, &work);
    let parts: Vec<(Vec<(usize, R)>, W)> = std::thread::scope(|scope| {
        let threads: Vec<_> = workers
            .into_iter()
            .map(|mut own| {
                scope.spawn(move || {
                    let mut results = Vec::new();
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        let Some(item) = items.get(i) else { return Ok((results, own)) };
                        results.push((i, work(&mut own, i, item)?));
                    }
                })
            })
            .collect();
        let joined =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.collect::<Result<Vec<_>, Error>>()
    })?;
    let (results, workers): (Vec<_>, Vec<W>) = parts.into_iter().unzip();
    let mut results: Vec<(usize, R)> = results.into_iter().flatten().collect();
    results.sort_by_key(|(i, _)| *i);
    Ok((results.into_iter().map(|(_, result)| result).collect(), workers))
}
