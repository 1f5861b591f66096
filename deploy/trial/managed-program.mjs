// A program that was written for the Managed Agents API: of it, the base URL and the key alone are
// Perdure's. It prints a line of JSON for each event of its first turn, and one at its end.
//
//     managed-program.mjs BASE_URL KEY PROMPT
import { Anthropic } from '@anthropic-ai/sdk';

const [baseURL, apiKey, prompt] = process.argv.slice(2);
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const client = new Anthropic({ baseURL, apiKey });
const { agents, sessions } = client.beta;

const agent = await agents.create({
  name: 'Counter',
  model: 'claude-sonnet-5-5',
  tools: [{ type: 'agent_toolset_20260401' }],
});
const session = await sessions.create({ agent: agent.id, environment_id: 'env_default' });
await turn(prompt, ({ type }) => say({ type }));
const text = await turn(prompt, () => undefined);
const listed = [];
for await (const { type } of sessions.events.list(session.id)) listed.push(type);
say({ session: session.id, listed, text });

/** Returns the last words of the agent. */
async function turn(words, hear) {
  const stream = await sessions.events.stream(session.id);
  await sessions.events.send(session.id, {
    events: [{ type: 'user.message', content: [{ type: 'text', text: words }] }],
  });
  let last = '';
  for await (const event of stream) {
    hear(event);
    if (event.type === 'agent.message') last = event.content.map((block) => block.text ?? '').join('');
    if (event.type === 'session.status_idle') return last;
  }
  throw new Error('the stream has ended before the session was idle');
}
