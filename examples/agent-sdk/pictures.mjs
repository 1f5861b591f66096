// @ts-check
// Streaming input: a message with an image for each picture of a folder, one after the other. An
// answer that goes on too long is interrupted. Killed and started again, the program goes on with
// the picture it was at.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { query } from 'perdure/agent-sdk';

const folder = process.argv[2] ?? '.';
const LONGEST = 400;

/** @type {() => void} */
let answered = () => undefined;

/** @returns {AsyncGenerator<import('perdure/agent-sdk').SDKUserMessage>} */
async function* pictures() {
  for (const file of readdirSync(folder)
    .filter((name) => name.endsWith('.png'))
    .toSorted()) {
    const source = { type: 'base64', media_type: 'image/png', data: readFileSync(join(folder, file), 'base64') };
    const content = /** @type {const} */ ([
      { type: 'text', text: `What is in ${file}?` },
      { type: 'image', source },
    ]);
    const result = new Promise((resolve) => (answered = () => resolve(undefined)));
    yield { type: 'user', message: { role: 'user', content: /** @type {any} */ (content) }, parent_tool_use_id: null };
    await result;
  }
}

const messages = query({ prompt: pictures(), options: { tools: [], includePartialMessages: true } });
let length = 0;
for await (const message of messages) {
  if (message.type === 'stream_event') {
    const { event } = message;
    if (event.type === 'message_start') length = 0;
    const before = length;
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') length += event.delta.text.length;
    if (before <= LONGEST && length > LONGEST) await messages.interrupt();
    continue;
  }
  console.log(JSON.stringify(message));
  if (message.type === 'result') answered();
}
