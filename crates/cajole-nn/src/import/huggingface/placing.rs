//! Tensors of a folder in the places of a network's parameters.
//!
//! PyTorch's linear layers hold `(output, input)`, ours `(input, output)`, and ours join queries,
//! keys and values. All shapes are checked before any weight is read or has room made for it.

use super::super::{ImportError, missing};
use super::weights::Weights;
use crate::layout::{Layout, Param};

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
    /// Transposed, into the columns from here on.
    Turned(usize),
    /// As a vector, into the elements from here on.
    Part(usize),
}

/// A plan for the weights of a network.
pub(super) struct Placing<'a> {
    weights: &'a Weights,
    layout: &'a Layout,
    /// What tensors' names may begin with, the most likely first.
    prefixes: &'a [&'a str],
    jobs: Vec<Job>,
    /// By parameter: how many of its columns have a tensor.
    filled: Vec<usize>,
}

impl<'a> Placing<'a> {
    pub(super) fn new(
        weights: &'a Weights,
        layout: &'a Layout,
        prefixes: &'a [&'a str],
    ) -> Placing<'a> {
        let filled = vec![0; layout.entries().len()];
        Placing { weights, layout, prefixes, jobs: Vec::new(), filled }
    }

    /// The parameter of this name, if the network has it.
    fn param(&self, name: &str) -> Option<Param> {
        self.layout.entries().iter().find(|entry| entry.name == name).map(|entry| entry.param)
    }

    /// The name in the file of the first of these tensors that exists, with any prefix.
    pub(super) fn find(&self, names: &[&str]) -> Result<Option<String>, ImportError> {
        let all =
            names.iter().flat_map(|name| self.prefixes.iter().map(move |p| format!("{p}{name}")));
        Ok(self.weights.find(&all.collect::<Vec<_>>())?.map(str::to_owned))
    }

    fn add(
        &mut self,
        names: &[&str],
        to: Param,
        shape: &[usize],
        place: How,
    ) -> Result<(), ImportError> {
        let path = self.weights.path();
        let tensor = self.find(names)?;
        let tensor =
            tensor.ok_or_else(|| missing(path, &format!("{}{}", self.prefixes[0], names[0])))?;
        self.weights.check(&tensor, shape)?;
        self.filled[to.id as usize] += match place {
            How::AsIs => to.cols as usize,
            How::Turned(_) => shape[0],
            How::Part(_) => shape[shape.len() - 1],
        };
        self.jobs.push(Job { tensor, to, place });
        Ok(())
    }

    /// A table, from any of these tensors.
    pub(super) fn table(&mut self, name: &str, from: &[&str]) -> Result<(), ImportError> {
        let Some(to) = self.param(name) else { return Ok(()) };
        self.add(from, to, &[to.rows as usize, to.cols as usize], How::AsIs)
    }

    /// A vector, from a tensor of this shape.
    pub(super) fn vector(
        &mut self,
        name: &str,
        from: &str,
        shape: &[usize],
    ) -> Result<(), ImportError> {
        let Some(to) = self.param(name) else { return Ok(()) };
        self.add(&[from], to, shape, How::Part(0))
    }

    /// A linear layer `NAME.w`, `NAME.b`, from one or more with the same input.
    pub(super) fn linear(&mut self, name: &str, from: &[String]) -> Result<(), ImportError> {
        let Some(w) = self.param(&format!("{name}.w")) else { return Ok(()) };
        let (k, n) = (w.rows as usize, w.cols as usize / from.len());
        for (i, from) in from.iter().enumerate() {
            self.add(&[&format!("{from}.weight")], w, &[n, k], How::Turned(i * n))?;
        }
        let Some(b) = self.param(&format!("{name}.b")) else { return Ok(()) };
        for (i, from) in from.iter().enumerate() {
            self.add(&[&format!("{from}.bias")], b, &[n], How::Part(i * n))?;
        }
        Ok(())
    }

    /// A norm `NAME.gain`, `NAME.bias`.
    pub(super) fn norm(&mut self, name: &str, from: &str) -> Result<(), ImportError> {
        for (part, tensor) in [("gain", "weight"), ("bias", "bias")] {
            let Some(to) = self.param(&format!("{name}.{part}")) else { continue };
            self.add(&[&format!("{from}.{tensor}")], to, &[to.cols as usize], How::Part(0))?;
        }
        Ok(())
    }

    /// The weights; parameters that are `new` keep the values that `initial` gives all.
    ///
    /// # Errors
    /// If a parameter has no tensor, a file cannot be read, or a weight is not finite.
    pub(super) fn read(
        self,
        new: &[&str],
        initial: impl FnOnce(&Layout) -> Vec<f32>,
    ) -> Result<Vec<f32>, ImportError> {
        let Placing { weights, layout, jobs, filled, .. } = self;
        for (entry, filled) in layout.entries().iter().zip(filled) {
            let is_new = new.contains(&entry.name.as_str());
            if filled != entry.param.cols as usize && !is_new {
                return Err(missing(weights.path(), &entry.name));
            }
        }
        let mut w = initial(layout);
        for Job { tensor, to, place } in &jobs {
            let cols = to.cols as usize;
            let own = &mut w[to.range()];
            weights.each_row(tensor, |i, row| match *place {
                How::AsIs => own[i * cols..][..cols].copy_from_slice(row),
                How::Turned(from) => {
                    row.iter().enumerate().for_each(|(k, v)| own[k * cols + from + i] = *v);
                }
                How::Part(from) => own[from..][..row.len()].copy_from_slice(row),
            })?;
        }
        Ok(w)
    }
}
