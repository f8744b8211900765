//! The crates are layered as the diagram in `ARCHITECTURE.md` says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The crates of the diagram, from the top: the first word of each line of the first text block.
fn diagram(text: &str) -> Vec<&str> {
    let (_, rest) = text.split_once("```text\n").expect("a diagram");
    let (lines, _) = rest.split_once("```").expect("that ends");
    lines.lines().filter_map(|line| line.split_whitespace().next()).collect()
}

/// The workspace's crates, each with those that it depends on.
fn crates(root: &Path) -> BTreeMap<String, Vec<String>> {
    let table = |path: PathBuf| -> toml::Table {
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let workspace = table(root.join("Cargo.toml"));
    let members = workspace["workspace"]["members"].as_array().expect("members");
    let folders = members.iter().flat_map(|member| {
        let member = member.as_str().expect("a path");
        match member.strip_suffix("/*") {
            Some(folder) => fs::read_dir(root.join(folder))
                .expect("a folder")
                .map(|entry| entry.expect("an entry").path())
                .filter(|path| path.join("Cargo.toml").exists())
                .collect(),
            None => vec![root.join(member)],
        }
    });
    let named = folders.map(|folder| {
        let table = table(folder.join("Cargo.toml"));
        let name = table["package"]["name"].as_str().expect("a name").to_owned();
        let mut ours = Vec::new();
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let some = table.get(kind).and_then(toml::Value::as_table);
            let names = some.into_iter().flat_map(toml::Table::keys);
            ours.extend(names.filter(|name| name.starts_with("cajole")).cloned());
        }
        (name, ours)
    });
    named.collect()
}

#[test]
fn every_crate_depends_only_on_those_below_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Ok(text) = fs::read_to_string(root.join("ARCHITECTURE.md")) else {
        return cajole_testing::outside::skip("no ARCHITECTURE.md, as in a packaged crate");
    };
    let (diagram, crates) = (diagram(&text), crates(&root));
    let layer = |name: &str| diagram.iter().position(|other| *other == name);
    for name in &diagram {
        assert!(crates.contains_key(*name), "{name} is in the diagram, but no crate");
    }
    for (name, dependencies) in &crates {
        let upper = layer(name).unwrap_or_else(|| panic!("{name} is not in the diagram"));
        for dependency in dependencies {
            let lower = layer(dependency);
            assert!(lower.is_some_and(|lower| upper < lower), "{name} depends on {dependency}");
        }
    }
    assert_eq!(diagram.len(), crates.len(), "no crate is in it twice");
}

/// A crate that includes a file from outside its folder builds here, but not once it is packaged.
#[test]
fn no_crate_includes_files_from_outside_its_folder() {
    /// Macros that read a file beside the source.
    const READING: [&str; 3] = ["include!(\"", "include_str!(\"", "include_bytes!(\""];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut open, mut n_included) = (vec![root], 0);
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
            open.extend(entries.filter(|path| !path.ends_with("node_modules")));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let folders = path.ancestors().skip(1);
            let depth = folders.take_while(|folder| !folder.join("Cargo.toml").exists()).count();
            for included in READING.iter().flat_map(|read| text.split(read).skip(1)) {
                let up = included.split('/').take_while(|part| *part == "..").count();
                assert!(up <= depth, "{}: ../ leads out of the crate", path.display());
                n_included += 1;
            }
        }
    }
    assert!(0 < n_included, "no includes were found");
}

/// The Rust files under a folder.
fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
}

/// A published figure measures the code that users run: above the core, one file runs searches.
#[test]
fn only_the_driver_runs_searches() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in ["experiments", "infer", "cli", "serve", "py", "tasks", "import"] {
        let folder = root.join(format!("cajole-{name}/src"));
        if !folder.is_dir() {
            return cajole_testing::outside::skip("no other crates, as in a packaged crate");
        }
        sources(&folder, &mut files);
    }
    let runs = ["run_set(", ".run_all(", ".session(", "gbi.solve(", "Gbi::new(", "Gbi::with("];
    let mut running = Vec::new();
    for path in &files {
        let text = fs::read_to_string(path).expect("a source");
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        if code.into_iter().any(|line| runs.iter().any(|run| line.contains(run))) {
            running.push(path.file_name().expect("a name").to_owned());
        }
    }
    assert_eq!(running, ["solver.rs"]);
}
