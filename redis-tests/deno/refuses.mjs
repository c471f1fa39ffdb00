// A server whose certificate nobody has signed that is known: refuses.mjs <url>
import { refused } from "./help.mjs";

await refused(() => Deno.openKv(Deno.args[0]), "TypeError", "certificate");
Deno.exit(0);
