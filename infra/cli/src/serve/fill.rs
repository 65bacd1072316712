//! Fills an empty stack in bulk.

use anyhow::Result;
use engine::error::EngineError;
use local::stack::{Import, Stack};
use table::Item;
use tokio::sync::oneshot;

use super::MAX_LEFT_OUT_SHOWN;
use crate::content::{Loaded, Source};
use crate::first_load::{self, Content, FirstLoadError, Keeps, World};
use crate::status::exclusions::LeftOut;

/// Loads all content into an empty stack and publishes it. Returns what reading came to, and what is left out.
///
/// It runs on a thread of its own: a pipe that nobody writes to must not hold up a signal. The thread ends with the process, or when
/// the stack no longer answers.
pub(super) async fn fill(
    stack: &Stack,
    import: Import,
    sources: Vec<Source>,
) -> Result<(Loaded, LeftOut)> {
    let reconciler = &stack.reconciler;
    let (known, env) = (reconciler.known.clone(), reconciler.env.clone());
    let world = World::over(stack.objects.clone(), known, env).await?;
    let (send, filled) = oneshot::channel();
    std::thread::Builder::new()
        .name("first load".to_owned())
        .spawn(move || send.send(first_load(world, import, &sources)).is_ok())?;
    let none = || EngineError::Service {
        operation: "the first load",
        message: "its thread has ended. Please report this bug".to_owned(),
    };
    Ok(filled.await.map_err(|_| none())??)
}

fn first_load(
    world: World,
    import: Import,
    sources: &[Source],
) -> Result<(Loaded, LeftOut), FirstLoadError> {
    let mut content = Content::begin()?;
    for source in sources {
        content.read(source)?;
    }
    import.mark()?;
    let mut into = Into(import);
    let keeps = Keeps::Elsewhere(&mut into);
    let (mut world, loaded) = content.publish(world, MAX_LEFT_OUT_SHOWN, keeps)?;
    into.0.finish()?;
    Ok((loaded, std::mem::take(&mut world.left_out)))
}

/// The tables of the stack.
struct Into(Import);

impl first_load::Import for Into {
    fn record(&mut self, record: Item) -> Result<(), FirstLoadError> {
        Ok(self.0.record(record)?)
    }

    fn row(&mut self, row: Item) -> Result<(), FirstLoadError> {
        Ok(self.0.row(row)?)
    }
}
