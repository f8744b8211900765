//! Tensors of a file in the places of a network's parameters.
//!
//! PyTorch's linear layers hold `(output, input)`, ours `(input, output)`, and ours join queries,
//! keys and values. All shapes are checked before any weight is read or has room made for it.

use std::collections::BTreeSet;
use std::path::Path;

use super::{ImportError, missing};
use crate::layout::{Layout, Param};

/// Tensors by name.
pub trait Source {
    /// The file that lists them.
    fn path(&self) -> &Path;

    /// The first of these names that there is a tensor of.
    ///
    /// # Errors
    /// If names refer to each other in a circle.
    fn find(&self, names: &[String]) -> Result<Option<&str>, ImportError>;

    /// Checks that a tensor has this shape and holds weights.
    ///
    /// # Errors
    /// If it does not, or does not exist.
    fn check(&self, name: &str, shape: &[usize]) -> Result<(), ImportError>;

    /// Calls `each` with every row of a tensor that was checked: the last dimension's values.
    ///
    /// # Errors
    /// If the file cannot be read, or a number is not finite.
    fn each_row(&self, name: &str, each: &mut dyn FnMut(usize, &[f32])) -> Result<(), ImportError>;
}

/// A tensor and where it goes.
struct Job {
    /// As the file calls it.
    tensor: String,
    to: Param,
    place: How,
}

#[derive(Clone, Copy)]
enum How {
    /// Row by row.
    AsIs,
    /// `n` rows from `first` on, transposed, into the columns from `to` on.
    Turned { first: usize, n: usize, to: usize },
    /// `n` elements from `first` on, into those from `to` on.
    Part { first: usize, n: usize, to: usize },
}

/// Some rows of a linear layer in a file.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// The first of them.
    pub first: usize,
    /// How many.
    pub n: usize,
    /// How many the layer has.
    pub of: usize,
}

/// A plan for the weights of a network.
pub struct Placing<'a, S> {
    source: &'a S,
    layout: &'a Layout,
    /// What tensors' names may begin with, the most likely first.
    prefixes: &'a [&'a str],
    jobs: Vec<Job>,
    /// By parameter: how many of its columns have a tensor.
    filled: Vec<usize>,
}

impl<'a, S: Source> Placing<'a, S> {
    /// A plan for the parameters of `layout`, without any tensors yet.
    pub fn new(source: &'a S, layout: &'a Layout, prefixes: &'a [&'a str]) -> Self {
        let filled = vec![0; layout.entries().len()];
        Placing { source, layout, prefixes, jobs: Vec::new(), filled }
    }

    /// The parameter of this name, if the network has it.
    fn param(&self, name: &str) -> Option<Param> {
        self.layout.entries().iter().find(|entry| entry.name == name).map(|entry| entry.param)
    }

    /// The name in the file of the first of these tensors that exists, with any prefix.
    ///
    /// # Errors
    /// As [`Source::find`].
    pub fn find(&self, names: &[&str]) -> Result<Option<String>, ImportError> {
        let prefixes = self.prefixes;
        let all = names.iter().flat_map(|name| prefixes.iter().map(move |p| format!("{p}{name}")));
        Ok(self.source.find(&all.collect::<Vec<_>>())?.map(str::to_owned))
    }

    fn add(
        &mut self,
        names: &[&str],
        to: Param,
        shape: &[usize],
        place: How,
    ) -> Result<(), ImportError> {
        let path = self.source.path();
        let tensor = self.find(names)?;
        let tensor =
            tensor.ok_or_else(|| missing(path, &format!("{}{}", self.prefixes[0], names[0])))?;
        self.source.check(&tensor, shape)?;
        self.filled[to.id as usize] += match place {
            How::AsIs => to.cols as usize,
            How::Turned { n, .. } | How::Part { n, .. } => n,
        };
        self.jobs.push(Job { tensor, to, place });
        Ok(())
    }

    /// A table, from any of these tensors.
    ///
    /// # Errors
    /// If none of them exists, or the one that does has another shape.
    pub fn table(&mut self, name: &str, from: &[&str]) -> Result<(), ImportError> {
        let Some(to) = self.param(name) else { return Ok(()) };
        self.add(from, to, &[to.rows as usize, to.cols as usize], How::AsIs)
    }

    /// A vector, from a tensor of this shape.
    ///
    /// # Errors
    /// If there is none.
    pub fn vector(&mut self, name: &str, from: &str, shape: &[usize]) -> Result<(), ImportError> {
        let Some(to) = self.param(name) else { return Ok(()) };
        self.add(&[from], to, shape, How::Part { first: 0, n: to.cols as usize, to: 0 })
    }

    /// A linear layer `NAME.w`, `NAME.b`, from one or more with the same input.
    ///
    /// # Errors
    /// If one of them is missing or has another shape.
    pub fn linear(&mut self, name: &str, from: &[String]) -> Result<(), ImportError> {
        let Some(w) = self.param(&format!("{name}.w")) else { return Ok(()) };
        let n = w.cols as usize / from.len();
        for (i, from) in from.iter().enumerate() {
            self.part(name, &[&format!("{from}."), ""], Rows { first: 0, n, of: n }, i * n)?;
        }
        Ok(())
    }

    /// Columns of a linear layer from `to` on, from rows of another. The name of its tensors is `names`
    /// around `weight` and `bias`.
    ///
    /// # Errors
    /// If they are missing or have another shape.
    pub fn part(
        &mut self,
        name: &str,
        names: &[&str; 2],
        rows: Rows,
        to: usize,
    ) -> Result<(), ImportError> {
        let ([before, after], Rows { first, n, of }) = (names, rows);
        if let Some(w) = self.param(&format!("{name}.w")) {
            let shape = [of, w.rows as usize];
            let place = How::Turned { first, n, to };
            self.add(&[&format!("{before}weight{after}")], w, &shape, place)?;
        }
        if let Some(b) = self.param(&format!("{name}.b")) {
            let place = How::Part { first, n, to };
            self.add(&[&format!("{before}bias{after}")], b, &[of], place)?;
        }
        Ok(())
    }

    /// A norm `NAME.gain`, `NAME.bias`.
    ///
    /// # Errors
    /// If its tensors are missing or have another shape.
    pub fn norm(&mut self, name: &str, from: &str) -> Result<(), ImportError> {
        for (part, tensor) in [("gain", "weight"), ("bias", "bias")] {
            let Some(to) = self.param(&format!("{name}.{part}")) else { continue };
            let place = How::Part { first: 0, n: to.cols as usize, to: 0 };
            self.add(&[&format!("{from}.{tensor}")], to, &[to.cols as usize], place)?;
        }
        Ok(())
    }

    /// The tensors that have a place, as the file calls them.
    pub fn tensors(&self) -> BTreeSet<&str> {
        self.jobs.iter().map(|job| job.tensor.as_str()).collect()
    }

    /// The weights; parameters that are `new` keep the values that `initial` gives all.
    ///
    /// # Errors
    /// If a parameter has no tensor, a file cannot be read, or a weight is not finite.
    pub fn read(
        self,
        new: &[&str],
        initial: impl FnOnce(&Layout) -> Vec<f32>,
    ) -> Result<Vec<f32>, ImportError> {
        let Placing { source, layout, jobs, filled, .. } = self;
        for (entry, filled) in layout.entries().iter().zip(filled) {
            let is_new = new.contains(&entry.name.as_str());
            if filled != entry.param.cols as usize && !is_new {
                return Err(missing(source.path(), &entry.name));
            }
        }
        let mut w = initial(layout);
        for Job { tensor, to, place } in &jobs {
            let cols = to.cols as usize;
            let own = &mut w[to.range()];
            source.each_row(tensor, &mut |i, row| match *place {
                How::AsIs => own[i * cols..][..cols].copy_from_slice(row),
                How::Turned { first, n, to } => {
                    if (first..first + n).contains(&i) {
                        let column = to + i - first;
                        row.iter().enumerate().for_each(|(k, v)| own[k * cols + column] = *v);
                    }
                }
                How::Part { first, n, to } => own[to..][..n].copy_from_slice(&row[first..][..n]),
            })?;
        }
        Ok(w)
    }
}
