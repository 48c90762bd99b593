/**
 * How long it takes until a model server sees that the caller left.
 * Contract: 100 ms. Run by `npm run bench:leaving`.
 */
import { moments, openStage, ways } from "../test/contract/leaving.js";

const rounds = 20;
const stage = await openStage();
console.log(`milliseconds over ${rounds} rounds, Node ${process.version}`);
console.log("way      moment                    median    max");
for (const way of Object.keys(ways)) {
  for (const moment of moments) {
    const times: number[] = [];
    for (let i = 0; i < rounds; i++) times.push(await stage.leave(way, moment));
    times.sort((a, b) => a - b);
    const median = times[rounds / 2] ?? 0;
    const max = times.at(-1) ?? 0;
    const figures = [median, max].map((ms) => ms.toFixed(1).padStart(8)).join("");
    console.log(`${way.padEnd(9)}${moment.padEnd(24)}${figures}`);
  }
}
await stage.close();
// Clients keep their connections.
process.exit();
