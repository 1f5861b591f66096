// A process that writes one step of a session to the live channel. Arguments: folder, session,
// step, how many deltas.
import { fileLive } from '../../store/live/file-live.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';

const [, , dir = '', session = '', step = '0', deltas = '0'] = process.argv;
const live = fileLive({ dir, log: (_, message) => console.error(message) });
const writer = live.open({ session: session as SessionId, step: Number(step), attempt: 1, activity: 'runTool' });
for (let n = 0; n < Number(deltas); n += 1) {
  writer.write({ type: 'text_delta', iteration: 1, index: 0, text: `${step}:${n}` });
  if (n % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
}
await writer.end({ type: 'fate', fate: 'done' });
