//! Bodies and queries that have options of a run among fields of their own.

use std::fmt;
use std::marker::PhantomData;

use cajole_infer::Run;
use cajole_infer::options::{Field, Place};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

/// Fields of a request, besides options.
pub(crate) trait Own: Default {
    /// Their names.
    const NAMES: &'static [&'static str];
    /// Whether engines are compared. Then options of a single run are unknown.
    const COMPARES: bool;

    /// Reads the field of this name, which is one of [`NAMES`](Self::NAMES).
    fn read<'de, D: Deserializer<'de>>(&mut self, name: &str, from: D) -> Result<(), D::Error>;
}

/// Fields of a request, and options.
#[derive(Debug, Default)]
pub(crate) struct With<T> {
    pub(crate) own: T,
    pub(crate) run: Run,
}

impl<'de, T: Own> Deserialize<'de> for With<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<With<T>, D::Error> {
        from.deserialize_map(Reader(PhantomData))
    }
}

struct Reader<T>(PhantomData<T>);

impl<'de, T: Own> Visitor<'de> for Reader<T> {
    type Value = With<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<With<T>, A::Error> {
        let mut with = With { own: T::default(), run: Run::default() };
        let mut read: Vec<&str> = Vec::new();
        while let Some(name) = map.next_key_seed(Name::<T>(PhantomData))? {
            if read.contains(&name) {
                return Err(A::Error::duplicate_field(name));
            }
            read.push(name);
            map.next_value_seed(Value { name, with: &mut with })?;
        }
        Ok(with)
    }
}

/// The name of a field or of an option.
struct Name<T>(PhantomData<T>);

impl<T: Own> Name<T> {
    fn known() -> impl Iterator<Item = &'static str> {
        let options = Field::all_of(Place::Http);
        let options = options.filter(|field| !T::COMPARES || field.is_of(Place::Commands));
        T::NAMES.iter().copied().chain(options.map(|field| field.name))
    }
}

impl<'de, T: Own> DeserializeSeed<'de> for Name<T> {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<&'static str, D::Error> {
        from.deserialize_identifier(self)
    }
}

impl<T: Own> Visitor<'_> for Name<T> {
    type Value = &'static str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<&'static str, E> {
        Self::known().find(|known| *known == name).ok_or_else(|| {
            let known: Vec<String> = Self::known().map(|known| format!("`{known}`")).collect();
            let known = known.join(", ");
            E::custom(format!("unknown field `{name}`, expected one of {known}"))
        })
    }
}

/// The value of a field or of an option.
struct Value<'a, T> {
    name: &'static str,
    with: &'a mut With<T>,
}

impl<'de, T: Own> DeserializeSeed<'de> for Value<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        if T::NAMES.contains(&self.name) {
            self.with.own.read(self.name, from)
        } else {
            self.with.run.read(self.name, from)
        }
    }
}
