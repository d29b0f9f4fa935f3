//! Cycles of functions that call each other: the strongly connected components of the call graph.

/// The number of each function's cycle. Two functions are in the same cycle if each calls the other, directly or
/// indirectly. `callees` lists the functions that each function calls. A cycle has a greater number than those that it
/// calls.
///
/// This is Tarjan's algorithm (1972) without recursion.
pub(super) fn cycles(callees: &[Vec<u32>]) -> Vec<u32> {
    let mut search = Search {
        index: vec![NONE; callees.len()],
        low: vec![NONE; callees.len()],
        cycle: vec![NONE; callees.len()],
        open: Vec::new(),
        next: 0,
        found: 0,
    };
    // Each function of the path with the number of its callees that have been followed.
    let mut path: Vec<(u32, usize)> = Vec::new();
    for root in 0..callees.len() as u32 {
        if at(&search.index, root) != NONE {
            continue;
        }
        search.enter(root);
        path.push((root, 0));
        while let Some((function, followed)) = path.last_mut() {
            let function = *function;
            let callee = callees.get(function as usize).and_then(|all| all.get(*followed)).copied();
            *followed += 1;
            match callee {
                Some(callee) if at(&search.index, callee) == NONE => {
                    search.enter(callee);
                    path.push((callee, 0));
                }
                Some(callee) => search.see(function, callee),
                None => {
                    path.pop();
                    search.leave(function);
                    if let Some((caller, _)) = path.last() {
                        search.lower(*caller, at(&search.low, function));
                    }
                }
            }
        }
    }
    search.cycle
}

const NONE: u32 = u32::MAX;

struct Search {
    index: Vec<u32>,
    low: Vec<u32>,
    cycle: Vec<u32>,
    open: Vec<u32>,
    next: u32,
    found: u32,
}

impl Search {
    fn enter(&mut self, function: u32) {
        set(&mut self.index, function, self.next);
        set(&mut self.low, function, self.next);
        self.next += 1;
        self.open.push(function);
    }

    fn see(&mut self, function: u32, callee: u32) {
        if at(&self.cycle, callee) == NONE {
            self.lower(function, at(&self.index, callee));
        }
    }

    fn lower(&mut self, function: u32, low: u32) {
        if low < at(&self.low, function) {
            set(&mut self.low, function, low);
        }
    }

    fn leave(&mut self, function: u32) {
        if at(&self.low, function) != at(&self.index, function) {
            return;
        }
        while let Some(member) = self.open.pop() {
            set(&mut self.cycle, member, self.found);
            // Further calls of it lower no other function.
            set(&mut self.low, member, NONE);
            if member == function {
                break;
            }
        }
        self.found += 1;
    }
}

fn at(values: &[u32], function: u32) -> u32 {
    values.get(function as usize).copied().unwrap_or(NONE)
}

fn set(values: &mut [u32], function: u32, value: u32) {
    if let Some(place) = values.get_mut(function as usize) {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_reach_each_other_are_one_cycle() {
        // 0 → 1 ⇄ 2 → 3 → 3, 4 → 0, 5
        let found = cycles(&[vec![1], vec![2], vec![1, 3], vec![3], vec![0], vec![]]);
        assert_eq!(found[1], found[2]);
        let mut numbers = found.clone();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 5);
        assert!(found[4] > found[0] && found[0] > found[1] && found[2] > found[3], "{found:?}");
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let chain: Vec<Vec<u32>> = (1..200_000).map(|next| vec![next]).chain([vec![0]]).collect();
        let found = cycles(&chain);
        assert!(found.iter().all(|cycle| *cycle == 0));
    }
}
