//! `waymark completions` and `waymark man`: files that clap makes from the command's own description.

use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, io};

use anyhow::Result;
use clap::Args;
use clap_complete::Shell;
use serde::Serialize;

use crate::files::failed;
use crate::files::fresh;
use crate::terminal::output::{Format, Output};

/// The command's name.
const NAME: &str = "waymark";

#[derive(Args)]
pub(crate) struct Completions {
    /// Shell that runs the script
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Args)]
pub(crate) struct Man {
    /// Write all pages into this folder (created if missing) instead of printing one
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// A script of completions, as JSON.
#[derive(Serialize)]
struct Script {
    shell: String,
    script: String,
}

/// Manual pages, as JSON.
#[derive(Serialize)]
struct Pages {
    /// The page, without a folder.
    page: Option<String>,
    /// The files that were written.
    files: Vec<PathBuf>,
}

impl Completions {
    pub(crate) fn run(self, mut command: clap::Command, output: &mut Output) -> Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, NAME, &mut script);
        let script = String::from_utf8_lossy(&script).into_owned();
        if output.format() == Format::Text {
            output.document(&script)?;
        } else {
            let shell = self.shell.to_string();
            output.json(&Script { shell, script })?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Man {
    pub(crate) fn run(self, mut command: clap::Command, output: &mut Output) -> Result<ExitCode> {
        let mut pages = Pages {
            page: None,
            files: Vec::new(),
        };
        match &self.folder {
            None => pages.page = Some(page(command)?),
            Some(folder) => {
                fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
                command.build();
                for (name, command) in pages_of(command) {
                    let file = folder.join(format!("{name}.1"));
                    let text = page(command)?;
                    fresh::write(&file, text.as_bytes()).map_err(|error| failed(&file, error))?;
                    pages.files.push(file);
                }
            }
        }
        if output.format() != Format::Text {
            output.json(&pages)?;
        } else if let Some(page) = &pages.page {
            output.document(page)?;
        } else {
            for file in &pages.files {
                output.line(file.display())?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the command and its verbs, each with the name of its page.
fn pages_of(command: clap::Command) -> Vec<(String, clap::Command)> {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs = verbs.filter(|verb| verb.get_name() != "help");
    let verbs = verbs.map(|verb| (format!("{NAME}-{}", verb.get_name()), verb.clone()));
    let verbs: Vec<_> = verbs.collect();
    [(NAME.to_owned(), command)]
        .into_iter()
        .chain(verbs)
        .collect()
}

fn page(command: clap::Command) -> io::Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
