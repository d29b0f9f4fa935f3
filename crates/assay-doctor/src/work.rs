//! A fixed piece of work that stresses the machine like a database server: it follows pointers, copies pages, and calls
//! the kernel.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use crate::DoctorError;

/// 4 MiB of pointers, more than the caches of one CPU hold.
const CHAIN: usize = 1 << 20;

/// 32 MiB of pages, as much as the tables of a study have.
const POOL: usize = 32 << 20;

const PAGE: usize = 16 << 10;

/// Pointers followed, pages copied, and messages sent in one step.
const HOPS: usize = 1000;
const PAGES: usize = 4;
const MESSAGES: usize = 10;

/// Bytes of a message, about those of a query with one row.
const MESSAGE: usize = 128;

/// Each step continues where the last one ended.
pub(crate) struct FixedWork {
    chain: Vec<u32>,
    pool: Vec<u8>,
    page: Vec<u8>,
    ends: [UnixStream; 2],
    at: u32,
    state: u64,
}

impl FixedWork {
    /// Takes about 10 ms and 36 MiB.
    pub(crate) fn new() -> Result<Self, DoctorError> {
        let (one, other) = UnixStream::pair().map_err(DoctorError::Socket)?;
        let mut work = Self {
            chain: Vec::new(),
            pool: (0..POOL).map(|index| index as u8).collect(),
            page: vec![0; PAGE],
            ends: [one, other],
            at: 0,
            state: 1,
        };
        work.chain = work.circle();
        Ok(work)
    }

    /// One circle through all entries in random order (Sattolo), so that no prefetcher can guess the next.
    fn circle(&mut self) -> Vec<u32> {
        let mut chain: Vec<u32> = (0..CHAIN as u32).collect();
        for last in (1..CHAIN).rev() {
            let other = self.random() as usize % last;
            chain.swap(last, other);
        }
        chain
    }

    /// A generator that costs a few cycles (Marsaglia's xorshift).
    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// Always the same amount of work, some 0.1 ms.
    pub(crate) fn step(&mut self) -> Result<(), DoctorError> {
        for _ in 0..HOPS {
            self.at = self.chain[self.at as usize];
        }
        for _ in 0..PAGES {
            let from = self.random() as usize % (POOL / PAGE) * PAGE;
            self.page.copy_from_slice(&self.pool[from..from + PAGE]);
            self.at ^=
                u32::from(std::hint::black_box(&self.page).iter().fold(0, |all, byte| all ^ byte))
                    & 1;
        }
        let mut message = [0; MESSAGE];
        let [one, other] = &mut self.ends;
        for _ in 0..MESSAGES {
            one.write_all(&message)
                .and_then(|()| other.read_exact(&mut message))
                .map_err(DoctorError::Socket)?;
        }
        Ok(())
    }
}
