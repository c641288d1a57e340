// What moves on the page. No inline code, no eval: the policy forbids both.
import { Charts } from "./charts.js";
import { beginForms } from "./forms.js";
import { beginKeys, beginTheme } from "./keys.js";
import { Live } from "./live.js";
import { beginOrders } from "./orders.js";
import { beginSwaps } from "./swaps.js";

const charts = new Charts();
const live = new Live(charts);
beginTheme(() => charts.draw());
beginKeys();
beginForms();
beginOrders();
beginSwaps(live);
charts.begin();
live.begin();
