// A program that allows a call and stops to listen at once, as `break` and an error of its own do.
import { query } from '../../dist/client/index.js';

const onApproval = () => ({ kind: 'allow' });
const options = { cwd: process.cwd(), config: {}, onApproval };
for await (const event of query({ prompt: 'Make it.', options })) {
  if (event.type !== 'approval') continue;
  console.log(event.session);
  break;
}
