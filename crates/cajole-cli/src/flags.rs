//! Flags for the options of a run, made from their table.

use std::ffi::OsStr;

use cajole_infer::Run;
use cajole_infer::engine::Engine;
use cajole_infer::options::{Field, Kind, Place};
use cajole_tasks::Preset;
use clap::builder::{
    PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser, ValueParser,
};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

/// Flags of every command that answers lines, or those of `infer` alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags<const INFER: bool>(pub(crate) Run);

impl<const INFER: bool> Flags<INFER> {
    fn fields() -> impl Iterator<Item = &'static Field> {
        Field::all_of(if INFER { Place::Infer } else { Place::Commands })
    }
}

impl<const INFER: bool> Args for Flags<INFER> {
    fn augment_args(command: Command) -> Command {
        Self::fields().fold(command, |command, field| command.arg(flag(field)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const INFER: bool> FromArgMatches for Flags<INFER> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut flags = Flags::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for field in Self::fields() {
            if let Some(value) = value(field, matches) {
                let read = self.0.read(field.name, value);
                read.map_err(|error| Error::raw(clap::error::ErrorKind::InvalidValue, error))?;
            }
        }
        Ok(())
    }
}

/// The value of a flag, if it is given.
fn value(field: &Field, matches: &ArgMatches) -> Option<serde_json::Value> {
    let name = field.name;
    match field.kind {
        Kind::Number { .. } => matches.get_one::<usize>(name).map(|&number| number.into()),
        Kind::Engine => matches.get_one(name).map(|engine: &Engine| engine.to_string().into()),
        Kind::Preset => matches.get_one(name).map(|preset: &Preset| preset.name().into()),
        Kind::Assignments => {
            matches.get_many::<String>(name).map(|all| all.map(String::as_str).collect())
        }
        Kind::Switch => matches.get_flag(name).then_some(true.into()),
        Kind::SwitchedOff(_) => matches.get_flag(name).then_some(false.into()),
    }
}

fn flag(field: &'static Field) -> Arg {
    let help = help(field);
    let details = field.details();
    let mut arg = Arg::new(field.name).long(field.flag);
    if !details.is_empty() {
        arg = arg.long_help(format!("{help}\n\n{details}"));
    }
    arg = arg.help(help);
    let name = match field.kind {
        Kind::Number { .. } => "N",
        Kind::Engine => "ENGINE",
        Kind::Preset => "PRESET",
        Kind::Assignments => "KEY=VALUE",
        Kind::Switch | Kind::SwitchedOff(_) => return arg.action(ArgAction::SetTrue),
    };
    if field.kind == Kind::Assignments {
        arg = arg.action(ArgAction::Append);
    }
    arg.value_name(name).value_parser(parser(field))
}

/// One sentence about a flag, with its range and its default.
fn help(field: &Field) -> String {
    let (about, default) = (field.about(), field.default_text());
    match field.kind {
        Kind::Number { least, most } => format!("{about} [{least} to {most}, default: {default}]"),
        Kind::Engine | Kind::Preset => format!("{about} [default: {default}]"),
        Kind::Assignments | Kind::Switch => about,
        Kind::SwitchedOff(sentence) => sentence.to_owned(),
    }
}

/// Help for a flag that is declared by hand.
///
/// # Panics
/// If there is no such option.
pub(crate) fn help_of(name: &str) -> String {
    help(Field::named(name).expect("it is in the table"))
}

/// Reads a number that is declared by hand.
///
/// # Panics
/// If there is no such option.
pub(crate) fn parser_of(name: &str) -> ValueParser {
    parser(Field::named(name).expect("it is in the table"))
}

fn parser(field: &'static Field) -> ValueParser {
    match field.kind {
        Kind::Number { .. } => ValueParser::new(|text: &str| number(field, text)),
        Kind::Engine => ValueParser::new(EngineParser),
        Kind::Preset => {
            let all = Preset::ALL;
            let names = all.map(|preset| PossibleValue::new(preset.name()).help(preset.about()));
            ValueParser::new(
                PossibleValuesParser::new(names).try_map(|name| name.parse::<Preset>()),
            )
        }
        Kind::Assignments | Kind::Switch | Kind::SwitchedOff(_) => ValueParser::string(),
    }
}

fn number(field: &Field, text: &str) -> Result<usize, String> {
    let number = text.parse::<i128>().map_err(|error| error.to_string())?;
    field.check(number).map_err(|error| error.to_string())
}

/// Reads an engine: its name, and numbers of its search. `--help` says what each does.
#[derive(Clone, Debug)]
pub(crate) struct EngineParser;

impl EngineParser {
    fn names(&self) -> impl Iterator<Item = PossibleValue> {
        let all = Engine::all().into_iter();
        all.map(|engine| PossibleValue::new(engine.name()).help(engine.about()))
    }
}

impl TypedValueParser for EngineParser {
    type Value = Engine;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Engine, Error> {
        let text = value.to_string_lossy();
        let name = text.split(':').next().unwrap_or_default();
        PossibleValuesParser::new(self.names()).parse_ref(command, arg, OsStr::new(name))?;
        StringValueParser::new().try_map(|text| text.parse()).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names()))
    }
}
