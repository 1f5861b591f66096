// A process that writes to a store until it is killed or done, and says in one line each what was
// acknowledged. Arguments: folder, name of this writer, how many steps.
import { writeSync } from 'node:fs';
import { fileStore } from '../../store/values/file-store.ts';
import { hashOf } from '../../store/values/store.ts';

const [, , dir = '', name = '', steps = '0'] = process.argv;
const store = fileStore({ dir });
const say = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`);

for (let n = 0; n < Number(steps); n += 1) {
  const segment = Buffer.from(`${name} ${n} `.padEnd(5_000, 'x'));
  const hash = hashOf(segment);
  say({ begun: n });
  const { kind } = await store.writeStep({ key: `steps/s-1/${n}`, bytes: Buffer.from(hash), blobs: [segment] });
  say({ key: `steps/s-1/${n}`, hash, kind });
}
