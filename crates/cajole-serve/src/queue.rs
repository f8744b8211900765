//! The inputs that wait, and who is next.
//!
//! Threads take lots: inputs of one model under the same terms, whoever sent them, so that requests
//! that arrive together are repaired in step. Requests take turns, so that one with many inputs does
//! not keep others waiting; and small requests wait in a lane of their own, with threads of its own,
//! so that none waits behind a lot of a large one.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Something that waits.
pub(crate) trait Item {
    /// What items must share to be answered together.
    type Terms: PartialEq;

    /// Its terms.
    fn terms(&self) -> &Arc<Self::Terms>;

    /// The request that it belongs to.
    fn request(&self) -> u64;

    /// Bytes that it holds.
    fn bytes(&self) -> usize;

    /// Whether a client still waits for it.
    fn is_wanted(&self) -> bool;
}

/// How much may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Items.
    pub(crate) items: usize,
    /// Bytes of items.
    pub(crate) bytes: usize,
}

/// The lane in which a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Among small requests.
    Small,
    /// Among large ones.
    Large,
}

/// The items that wait.
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    /// Signals that something waits in a lane, or that the queue is closed.
    came: [Condvar; 2],
    room: Room,
    /// Threads that take from each lane.
    threads: usize,
    /// The most items of a lot.
    most: usize,
}

struct State<T> {
    /// The items of each request, in lanes of requests.
    lanes: [VecDeque<VecDeque<T>>; 2],
    items: usize,
    bytes: usize,
    /// Threads of each lane that wait for items.
    idle: [usize; 2],
    is_closed: bool,
}

impl<T: Item> Queue<T> {
    /// With this much room, for `threads` threads in each lane, which take lots of at most `most`.
    pub(crate) fn new(room: Room, threads: usize, most: usize) -> Self {
        let state =
            State { lanes: Default::default(), items: 0, bytes: 0, idle: [0; 2], is_closed: false };
        let came = Default::default();
        Queue { state: Mutex::new(state), came, room, threads: threads.max(1), most: most.max(1) }
    }

    /// Queues items of a request. If there is no room for all, queues none and returns them.
    pub(crate) fn put(&self, lane: Lane, items: VecDeque<T>) -> Result<(), VecDeque<T>> {
        let bytes: usize = items.iter().map(T::bytes).sum();
        let mut state = self.lock();
        let is_full =
            self.room.items < state.items + items.len() || self.room.bytes < state.bytes + bytes;
        if is_full || state.is_closed {
            return Err(items);
        }
        state.items += items.len();
        state.bytes += bytes;
        state.put(lane, items);
        self.call(lane, state);
        Ok(())
    }

    /// The next lot of a lane, once there is one; `None` once the queue is closed and empty.
    pub(crate) fn take(&self, lane: Lane) -> Option<Vec<T>> {
        let mut state = self.lock();
        loop {
            let lot = state.lot(lane, self.threads, self.most);
            if !lot.is_empty() {
                if !state.lanes[lane as usize].is_empty() {
                    self.call(lane, state);
                }
                return Some(lot);
            }
            if state.is_closed {
                return None;
            }
            state.idle[lane as usize] += 1;
            let came = &self.came[lane as usize];
            state = came.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle[lane as usize] -= 1;
        }
    }

    /// How many items wait.
    pub(crate) fn len(&self) -> usize {
        self.lock().items
    }

    /// Refuses new items; threads end once nothing waits.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.came.iter().for_each(Condvar::notify_all);
    }

    /// Wakes a thread of a lane, if one waits. Most of the time all are busy, and waking none would
    /// still be a system call.
    fn call(&self, lane: Lane, state: MutexGuard<'_, State<T>>) {
        let is_idle = 0 < state.idle[lane as usize];
        drop(state);
        if is_idle {
            self.came[lane as usize].notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Item> State<T> {
    /// A request has one place in its lane, however often it adds items.
    fn put(&mut self, lane: Lane, mut items: VecDeque<T>) {
        let Some(request) = items.front().map(T::request) else { return };
        let lane = &mut self.lanes[lane as usize];
        let is_it = |known: &&mut VecDeque<T>| known.front().map(T::request) == Some(request);
        match lane.iter_mut().find(is_it) {
            Some(known) => known.append(&mut items),
            None => lane.push_back(items),
        }
    }

    /// Takes items with the terms of the first item, one from each request in turn, and leaves the
    /// other threads of the lane their share.
    fn lot(&mut self, lane: Lane, threads: usize, most: usize) -> Vec<T> {
        let mut requests = std::mem::take(&mut self.lanes[lane as usize]);
        for request in &mut requests {
            let (items, bytes) = weigh(request);
            request.retain(T::is_wanted);
            let (items_left, bytes_left) = weigh(request);
            self.items -= items - items_left;
            self.bytes -= bytes - bytes_left;
        }
        requests.retain(|request| !request.is_empty());
        let mut lot: Vec<T> = Vec::new();
        let first = requests.front().and_then(VecDeque::front).map(|item| item.terms().clone());
        if let Some(terms) = first {
            let is_same = |item: &T| Arc::ptr_eq(item.terms(), &terms) || **item.terms() == *terms;
            let of_front = |request: &VecDeque<T>| request.front().is_some_and(is_same);
            let (mut same, others): (VecDeque<_>, VecDeque<_>) =
                requests.into_iter().partition(of_front);
            let all: usize = same.iter().map(VecDeque::len).sum();
            let share = all.div_ceil(threads).min(most);
            while lot.len() < share
                && let Some(mut request) = same.pop_front()
            {
                lot.extend(request.pop_front());
                if request.front().is_some_and(is_same) {
                    same.push_back(request);
                } else if !request.is_empty() {
                    self.lanes[lane as usize].push_back(request);
                }
            }
            // Requests with other terms have waited longer than the rest of these.
            let mut rest = others;
            rest.append(&mut self.lanes[lane as usize]);
            rest.append(&mut same);
            self.lanes[lane as usize] = rest;
        }
        self.items -= lot.len();
        self.bytes -= lot.iter().map(T::bytes).sum::<usize>();
        lot
    }
}

fn weigh<T: Item>(items: &VecDeque<T>) -> (usize, usize) {
    (items.len(), items.iter().map(T::bytes).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Number {
        terms: Arc<char>,
        id: usize,
        is_wanted: bool,
    }

    impl Item for Number {
        type Terms = char;

        fn terms(&self) -> &Arc<char> {
            &self.terms
        }

        fn request(&self) -> u64 {
            self.id as u64 / 10 // the requests of these tests
        }

        fn bytes(&self) -> usize {
            10
        }

        fn is_wanted(&self) -> bool {
            self.is_wanted
        }
    }

    fn request(terms: char, ids: std::ops::Range<usize>) -> VecDeque<Number> {
        let terms = Arc::new(terms);
        ids.map(|id| Number { terms: terms.clone(), id, is_wanted: true }).collect()
    }

    fn queue(threads: usize, most: usize) -> Queue<Number> {
        Queue::new(Room { items: 100, bytes: 10_000 }, threads, most)
    }

    fn ids(lot: Option<Vec<Number>>) -> Vec<usize> {
        lot.into_iter().flatten().map(|item| item.id).collect()
    }

    #[test]
    fn what_arrives_together_goes_together_if_its_terms_are_the_same() {
        let queue = queue(1, 10);
        for (terms, id) in [('a', 0), ('b', 10), ('a', 20), ('a', 30), ('b', 40)] {
            queue.put(Lane::Small, request(terms, id..id + 1)).unwrap();
        }
        assert_eq!(ids(queue.take(Lane::Small)), [0, 20, 30]);
        assert_eq!(ids(queue.take(Lane::Small)), [10, 40]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn requests_take_turns() {
        let queue = queue(1, 4);
        queue.put(Lane::Large, request('a', 0..8)).unwrap();
        queue.put(Lane::Large, request('a', 10..12)).unwrap();
        queue.put(Lane::Large, request('b', 20..21)).unwrap();
        assert_eq!(ids(queue.take(Lane::Large)), [0, 10, 1, 11]);
        // The other terms have waited; the rest comes after them.
        assert_eq!(ids(queue.take(Lane::Large)), [20]);
        assert_eq!(ids(queue.take(Lane::Large)), [2, 3, 4, 5]);
        assert_eq!(ids(queue.take(Lane::Large)), [6, 7]);
    }

    #[test]
    fn a_stream_has_one_place_however_many_lines_it_adds() {
        let queue = queue(1, 4);
        for id in 0..6 {
            queue.put(Lane::Large, request('a', id..id + 1)).unwrap();
        }
        queue.put(Lane::Large, request('a', 10..12)).unwrap();
        assert_eq!(ids(queue.take(Lane::Large)), [0, 10, 1, 11]);
    }

    #[test]
    fn threads_share_what_goes_together() {
        let queue = queue(2, 10);
        queue.put(Lane::Small, request('a', 0..7)).unwrap();
        assert_eq!(ids(queue.take(Lane::Small)), [0, 1, 2, 3]);
        assert_eq!(ids(queue.take(Lane::Small)), [4, 5]);
        assert_eq!(ids(queue.take(Lane::Small)), [6]);
    }

    #[test]
    fn whoever_left_takes_up_neither_time_nor_room() {
        let queue = queue(1, 10);
        let mut gone = request('a', 0..10);
        gone.iter_mut().for_each(|item| item.is_wanted = false);
        queue.put(Lane::Large, gone).unwrap();
        queue.put(Lane::Large, request('a', 50..51)).unwrap();
        assert_eq!(queue.len(), 11);
        assert_eq!(ids(queue.take(Lane::Large)), [50]);
        assert_eq!(queue.len(), 0);
        assert_eq!(queue.lock().bytes, 0);
    }

    #[test]
    fn a_full_queue_takes_a_request_whole_or_not_at_all() {
        let queue = queue(1, 10);
        queue.put(Lane::Large, request('a', 0..60)).unwrap();
        assert_eq!(queue.put(Lane::Small, request('a', 0..41)).unwrap_err().len(), 41);
        queue.put(Lane::Small, request('a', 0..40)).unwrap();
        assert_eq!(queue.len(), 100);
    }

    #[test]
    fn threads_that_wait_are_woken() {
        let queue = queue(2, 10);
        let idle = || queue.lock().idle[Lane::Small as usize];
        let work = || {
            let items = std::iter::from_fn(|| queue.take(Lane::Small)).flatten();
            items.map(|item| item.id).collect::<Vec<_>>()
        };
        std::thread::scope(|scope| {
            let hands = [scope.spawn(work), scope.spawn(work)];
            while idle() < 2 {
                std::thread::yield_now();
            }
            queue.put(Lane::Small, request('a', 0..2)).unwrap();
            while idle() < 2 || queue.len() != 0 {
                std::thread::yield_now();
            }
            queue.close();
            let mut taken: Vec<usize> =
                hands.into_iter().flat_map(|hand| hand.join().unwrap()).collect();
            taken.sort_unstable();
            assert_eq!(taken, [0, 1]);
        });
        assert_eq!(idle(), 0);
    }

    #[test]
    fn a_closed_queue_is_emptied_first() {
        let queue = queue(1, 10);
        queue.put(Lane::Small, request('a', 0..2)).unwrap();
        queue.close();
        assert!(queue.put(Lane::Small, request('a', 2..3)).is_err());
        assert_eq!(ids(queue.take(Lane::Small)), [0, 1]);
        assert!(queue.take(Lane::Small).is_none() && queue.take(Lane::Large).is_none());
    }
}
