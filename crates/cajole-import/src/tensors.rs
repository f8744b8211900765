//! Tensors by name.

use std::collections::BTreeMap;
use std::path::Path;

use cajole_nn::import::{ImportError, Tensor, check_finite, check_shape, missing};

/// Tensors by name.
pub type Tensors = BTreeMap<String, Tensor>;

/// The tensor `name` of the file `path`.
///
/// # Errors
/// If it is missing, has another shape, or holds a number that is not finite.
pub fn expect<'t>(
    tensors: &'t Tensors,
    path: &Path,
    name: &str,
    shape: &[usize],
) -> Result<&'t Tensor, ImportError> {
    let tensor = tensors.get(name).ok_or_else(|| missing(path, name))?;
    check_shape(path, name, &tensor.shape, shape)?;
    check_finite(path, name, &tensor.values)?;
    Ok(tensor)
}
