//! Compiled rules, for all who want the same ones.
//!
//! Compiling a rule may take longer than running the network, and the same rules come with line after
//! line and request after request. So they are kept, by their text and the vocabulary that they are
//! for, and errors are kept as well. Threads that ask for the same rules at the same time wait for one
//! of them to compile.
//!
//! Rules differ in size by a factor of a million. Therefore the cache is bounded by bytes, not by
//! number, and the least recently used rules leave first. See [`Rules::bytes`] for how these are
//! estimated.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use crate::file::{RuleFileError, RuleText, Rules};
use crate::limits::MOST_COMPILED_BYTES;
use crate::vocabulary::Vocabulary;

/// Rules that were compiled, or why they cannot be.
pub type Compiled = Result<Arc<Rules>, RuleFileError>;

/// Bytes of an entry besides its text and its rules.
const ENTRY_BYTES: usize = 512;

/// Keeps compiled rules.
pub struct Cache {
    most_bytes: usize,
    entries: Mutex<Entries>,
    n_compiled: AtomicUsize,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<Key, Entry>,
    /// Counts uses.
    clock: u64,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    text: RuleText,
    /// The address of the vocabulary. No other has it while the entry holds a weak reference.
    vocabulary: usize,
}

struct Entry {
    vocabulary: Weak<Vocabulary>,
    /// Empty until the first thread that asks has compiled them.
    rules: Arc<OnceLock<Compiled>>,
    bytes: usize,
    /// Bytes of the vocabulary, if the rules keep it alive.
    vocabulary_bytes: usize,
    /// The time of the last use, which is that of no other.
    last_use: u64,
}

impl Key {
    fn new(text: &RuleText, vocabulary: &Arc<Vocabulary>) -> Key {
        Key { text: text.clone(), vocabulary: Arc::as_ptr(vocabulary).addr() }
    }
}

impl Cache {
    /// An empty cache of rules that take up to this many bytes together. The rules that were used
    /// last are kept even if they take more.
    pub fn new(most_bytes: usize) -> Cache {
        Cache { most_bytes, entries: Mutex::default(), n_compiled: AtomicUsize::new(0) }
    }

    /// The cache that everything in this process shares.
    pub fn shared() -> &'static Cache {
        static SHARED: LazyLock<Cache> = LazyLock::new(|| Cache::new(MOST_COMPILED_BYTES));
        &SHARED
    }

    /// The rules of a text, for outputs in this vocabulary. Files that they name are not read again.
    ///
    /// # Errors
    /// If a rule is invalid.
    pub fn compile(&self, text: &RuleText, vocabulary: &Arc<Vocabulary>) -> Compiled {
        let key = Key::new(text, vocabulary);
        let place = self.lock().enter(&key, vocabulary);
        let mut is_new = false;
        let compiled = place.get_or_init(|| {
            is_new = true;
            self.n_compiled.fetch_add(1, Ordering::Relaxed);
            text.compile(vocabulary).map(Arc::new)
        });
        match compiled {
            _ if is_new => self.keep(&key, &place, compiled),
            Ok(known) => known.note_reads(),
            Err(_) => {}
        }
        compiled.clone()
    }

    /// The rules of a text, if they are here already.
    pub fn known(&self, text: &RuleText, vocabulary: &Arc<Vocabulary>) -> Option<Compiled> {
        self.lock().find(&Key::new(text, vocabulary))?.get().cloned()
    }

    /// Drops rules that may name files, because these have changed.
    pub fn forget_files(&self) {
        let mut entries = self.lock();
        let may_name_files = |key: &Key, _: &mut Entry| key.text.folder.is_some();
        let removed: Vec<(Key, Entry)> = entries.by_key.extract_if(may_name_files).collect();
        drop(entries);
        // Outside the lock: the end of a checker's process may take a while.
        drop(removed);
    }

    /// How many texts have been compiled so far.
    pub fn n_compiled(&self) -> usize {
        self.n_compiled.load(Ordering::Relaxed)
    }

    /// Notes the size of rules that were just compiled, and evicts others.
    fn keep(&self, key: &Key, place: &Arc<OnceLock<Compiled>>, compiled: &Compiled) {
        let mut entries = self.lock();
        let is_here = entries.find(key).is_some_and(|here| Arc::ptr_eq(&here, place));
        let Some(entry) = entries.by_key.get_mut(key).filter(|_| is_here) else { return };
        entry.bytes = 2 * key.text.text.len() + ENTRY_BYTES;
        if let Ok(rules) = compiled {
            entry.bytes += rules.bytes();
            // Rules over text do not need the pieces.
            let vocabulary = entry.vocabulary.upgrade().filter(|all| all.spelling().is_none());
            entry.vocabulary_bytes = vocabulary.map_or(0, |vocabulary| vocabulary.n_bytes());
        }
        let removed = entries.evict(self.most_bytes);
        drop(entries);
        drop(removed);
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    /// The place of some rules, which may be empty.
    fn find(&mut self, key: &Key) -> Option<Arc<OnceLock<Compiled>>> {
        let entry = self.by_key.get_mut(key)?;
        self.clock += 1;
        entry.last_use = self.clock;
        Some(Arc::clone(&entry.rules))
    }

    /// The place of some rules, which is made if there is none.
    fn enter(&mut self, key: &Key, vocabulary: &Arc<Vocabulary>) -> Arc<OnceLock<Compiled>> {
        if let Some(rules) = self.find(key) {
            return rules;
        }
        self.clock += 1;
        let (rules, vocabulary) = (Arc::default(), Arc::downgrade(vocabulary));
        let entry = Entry {
            vocabulary,
            rules: Arc::clone(&rules),
            bytes: 0,
            vocabulary_bytes: 0,
            last_use: self.clock,
        };
        self.by_key.insert(key.clone(), entry);
        rules
    }

    /// Removes the rules of networks that are gone, and the least recently used of the others.
    fn evict(&mut self, most_bytes: usize) -> Vec<(Key, Entry)> {
        let is_gone = |_: &Key, entry: &mut Entry| entry.vocabulary.strong_count() == 0;
        let mut removed: Vec<(Key, Entry)> = self.by_key.extract_if(is_gone).collect();
        let first_kept = self.first_kept(most_bytes);
        removed.extend(self.by_key.extract_if(|_, entry| entry.last_use < first_kept));
        removed
    }

    /// The last use of the least recently used entry that still fits.
    fn first_kept(&self, most_bytes: usize) -> u64 {
        let mut entries: Vec<(&Key, &Entry)> = self.by_key.iter().collect();
        entries.sort_unstable_by_key(|(_, entry)| Reverse(entry.last_use));
        let (mut bytes, mut vocabularies) = (0, HashSet::new());
        let mut first_kept = self.clock;
        for (key, entry) in entries {
            bytes += entry.bytes;
            if entry.vocabulary_bytes > 0 && vocabularies.insert(key.vocabulary) {
                bytes += entry.vocabulary_bytes;
            }
            if bytes > most_bytes {
                break;
            }
            first_kept = entry.last_use;
        }
        first_kept
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    fn letters() -> Arc<Vocabulary> {
        Arc::new(Vocabulary::new(["a", "b"], ""))
    }

    /// Rules that allow this many symbols.
    fn at_most(n: usize) -> RuleText {
        RuleText::new("here", format!("arithmetic = 'len(out) <= {n}'"))
    }

    #[test]
    fn a_text_is_compiled_once_for_a_vocabulary() {
        let (cache, vocabulary) = (Cache::new(1 << 20), letters());
        assert!(cache.known(&at_most(1), &vocabulary).is_none());
        let rules = cache.compile(&at_most(1), &vocabulary).unwrap();
        assert!(Arc::ptr_eq(&rules, &cache.compile(&at_most(1), &vocabulary).unwrap()));
        assert!(Arc::ptr_eq(&rules, &cache.known(&at_most(1), &vocabulary).unwrap().unwrap()));
        assert_eq!(cache.n_compiled(), 1);
        cache.compile(&at_most(2), &vocabulary).unwrap();
        assert_eq!(cache.n_compiled(), 2);
        let other = cache.compile(&at_most(1), &letters()).unwrap();
        assert!(!Arc::ptr_eq(&rules, &other), "another network");
    }

    #[test]
    fn threads_wait_for_the_one_that_compiles() {
        const N: usize = 8;
        let (cache, vocabulary, begin) = (Cache::new(1 << 20), letters(), Barrier::new(N));
        // A pattern takes long enough for all of them to ask.
        let text = RuleText::new("here", "pattern = '(a|b)*a(a|b){10}'");
        let all: Vec<Arc<Rules>> = thread::scope(|scope| {
            let ask = || {
                begin.wait();
                cache.compile(&text, &vocabulary).unwrap()
            };
            let threads: Vec<_> = (0..N).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(all.iter().all(|rules| Arc::ptr_eq(rules, &all[0])));
        assert_eq!(cache.n_compiled(), 1);
    }

    #[test]
    fn errors_are_kept() {
        let (cache, vocabulary) = (Cache::new(1 << 20), letters());
        let text = RuleText::new("here", "must-have = ['c']");
        let first = cache.compile(&text, &vocabulary).err().expect("there is no c").to_string();
        let again = cache.known(&text, &vocabulary).expect("it is kept").err().unwrap();
        assert_eq!(first, again.to_string());
        assert!(cache.compile(&text, &vocabulary).is_err());
        assert_eq!(cache.n_compiled(), 1);
        let other = RuleText::new("there", "must-have = ['c']");
        let other = cache.compile(&other, &vocabulary).err().unwrap().to_string();
        assert_eq!(other, first.replace("here", "there"), "messages have the name of the rules");
    }

    #[test]
    fn the_least_recently_used_rules_leave_first() {
        let vocabulary = letters();
        let size = |text: &RuleText| {
            let cache = Cache::new(usize::MAX);
            cache.compile(text, &vocabulary).unwrap();
            cache.lock().by_key.values().map(|entry| entry.bytes).sum::<usize>()
        };
        let small = size(&at_most(1));
        let cache = Cache::new(3 * small + vocabulary.n_bytes());
        let is_here =
            |n: usize| cache.lock().by_key.contains_key(&Key::new(&at_most(n), &vocabulary));
        (1..=3).for_each(|n| drop(cache.compile(&at_most(n), &vocabulary)));
        cache.known(&at_most(1), &vocabulary).unwrap().unwrap();
        cache.compile(&at_most(4), &vocabulary).unwrap();
        assert_eq!([1, 2, 3, 4].map(is_here), [true, false, true, true]);
        // Rules that fill the cache alone are kept until others come.
        let large = RuleText::new("here", "pattern = '(a|b)*a(a|b){8}'");
        assert!(3 * small < size(&large));
        cache.compile(&large, &vocabulary).unwrap();
        assert_eq!([1, 2, 3, 4].map(is_here), [false; 4]);
        assert!(cache.known(&large, &vocabulary).is_some());
        cache.compile(&at_most(5), &vocabulary).unwrap();
        assert!(cache.known(&large, &vocabulary).is_none());
        assert_eq!(cache.n_compiled(), 6);
    }

    #[test]
    fn a_vocabulary_counts_once_if_rules_hold_it() {
        let names: Vec<String> = (0..1000).map(|n| format!("word{n}")).collect();
        let words = Arc::new(Vocabulary::new(names, " "));
        let cache = Cache::new(words.n_bytes() + 16 * 1024);
        (1..=3).for_each(|n| drop(cache.compile(&at_most(n), &words)));
        assert_eq!(cache.lock().by_key.len(), 3);
        let cache = Cache::new(words.n_bytes());
        (1..=3).for_each(|n| drop(cache.compile(&at_most(n), &words)));
        assert_eq!(cache.lock().by_key.len(), 1);
    }

    #[test]
    fn large_tables_count() {
        let vocabulary = letters();
        let bytes = |text: &str| RuleText::new("here", text).compile(&vocabulary).unwrap().bytes();
        assert!(bytes("must-have = ['a']") < 8 * 1024);
        // The tenth letter from the end is an a: 1024 states, two transitions each.
        assert!(bytes("pattern = '(a|b)*a(a|b){9}'") > 1024 * 2 * 16);
        assert!(bytes("symbols = \"('a'|'b')*, 'a', ('a'|'b'), ('a'|'b')\"") < 16 * 1024);
        // The sets of ten phrases.
        let phrases: Vec<String> = (0..10).map(|n| format!("{:?}", "ab".repeat(n + 1))).collect();
        assert!(bytes(&format!("must-have = [{}]", phrases.join(", "))) > 10 * 1024);
    }

    #[test]
    fn rules_that_may_name_files_can_be_forgotten() {
        let (cache, vocabulary) = (Cache::new(1 << 20), letters());
        let of_file = RuleText { folder: Some("rules".into()), ..at_most(1) };
        cache.compile(&of_file, &vocabulary).unwrap();
        cache.compile(&at_most(1), &vocabulary).unwrap();
        cache.forget_files();
        assert!(cache.known(&of_file, &vocabulary).is_none());
        assert!(cache.known(&at_most(1), &vocabulary).is_some());
    }

    #[test]
    fn the_rules_of_a_network_that_is_gone_leave() {
        let cache = Cache::new(1 << 20);
        // These rules are over bytes, so they hold nothing of the vocabulary itself.
        let spelling = || {
            use cajole_core::constraints::{Spelling, Trie};
            let later = Trie::new([&b"a"[..]]);
            Spelling { later, first: None, silent: Vec::new() }
        };
        let pieces = || Arc::new(Vocabulary::of_pieces(vec!["a".to_owned()], spelling()));
        let (one, other) = (pieces(), pieces());
        cache.compile(&at_most(1), &one).unwrap();
        drop(one);
        cache.compile(&at_most(1), &other).unwrap();
        assert_eq!(cache.lock().by_key.len(), 1);
    }
}
