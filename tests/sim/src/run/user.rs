//! Writes of a user whose calls the content table throttles.

use super::Run;
use crate::history::Page;

impl Run {
    /// Writes a record, as a user's code does. Returns whether the table has taken it.
    pub(crate) async fn try_put(&mut self, id: usize, page: Page) -> bool {
        self.oracle.now = self.world.sim.now();
        let id = self.world.id(&format!("r{id}"));
        let page = self.oracle.edited(page);
        let record = self.oracle.record(&id, &page);
        let is_taken = self.world.put_as_user(&record).await.is_ok();
        if is_taken {
            self.oracle.pages.insert(id, page);
        }
        is_taken
    }
}
