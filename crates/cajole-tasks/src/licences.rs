//! The licences of what is built in: code, and networks that were trained on other people's data.

/// Something that is built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Licensed {
    /// Its name.
    pub name: &'static str,
    /// Its licences, as an SPDX expression.
    pub licence: &'static str,
    /// The data that it was made from; empty for code.
    pub made_from: &'static str,
}

/// The built-in networks with their licences, all of which stay with a binary that is passed on.
pub const LICENCES: &[Licensed] = &[
    Licensed { name: "code", licence: env!("CARGO_PKG_LICENSE"), made_from: "" },
    Licensed {
        name: "transducer",
        licence: cajole_model_transducer::LICENCE,
        made_from: cajole_model_transducer::DATA,
    },
    Licensed {
        name: "parser",
        licence: cajole_model_parser::LICENCE,
        made_from: cajole_model_parser::DATA,
    },
    Licensed {
        name: "tagger",
        licence: cajole_model_tagger::LICENCE,
        made_from: cajole_model_tagger::DATA,
    },
    Licensed {
        name: "expressions",
        licence: cajole_model_expressions::LICENCE,
        made_from: cajole_model_expressions::DATA,
    },
];
