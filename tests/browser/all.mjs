// All tests, one after the other, beside one running stack.
//
//     WAYMARK=target/debug/waymark node --test tests/browser/all.mjs

import "./view.mjs";
import "./states.mjs";
import "./accessibility.mjs";
import "./crawl.mjs";
import "./firefox.mjs";
