// A server whose certificate no known authority has signed: refuses.mjs <url>
import { refused } from "./help.mjs";

await refused(() => Deno.openKv(Deno.args[0]), "TypeError", "certificate");
Deno.exit(0);
