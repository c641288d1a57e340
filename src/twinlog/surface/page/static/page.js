// What moves on the page. No inline code, no eval: the policy forbids both.
import { Charts } from "./charts.js";
import { beginControl } from "./control.js";
import { beginForms } from "./forms.js";
import { beginKeys, beginTheme } from "./keys.js";
import { Live } from "./live.js";
import { beginOrders } from "./orders.js";
import { beginRecord } from "./record.js";
import { beginSwaps } from "./swaps.js";

const charts = new Charts();
const live = new Live(charts);
beginTheme(() => charts.draw());
beginKeys();
beginForms();
beginControl();
beginOrders();
beginRecord();
beginSwaps(live);
charts.begin();
live.begin();
