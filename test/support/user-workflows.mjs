// Workflows of a user's own, in a worker of the user's own, with an activity beside the agent.
import { condition, defineSignal, proxyActivities, setHandler, sleep } from '@temporalio/workflow';
import { runAgent, startAgent } from '../../dist/workflows/parent/run-agent.js';

const { shout } = proxyActivities({ startToCloseTimeout: '1 minute' });

export async function reportOf(call) {
  const report = await runAgent(call);
  return { report, loud: await shout(report.text) };
}

export async function steered(call, more) {
  const agent = await startAgent(call);
  await agent.send(more);
  return await agent.result();
}

/** `before`, then the prompt many times. */
export async function longPrompt(call, times, before) {
  return await runAgent({ ...call, prompt: before + call.prompt.repeat(times) });
}

/** With nothing but a prompt. */
export async function asked(prompt) {
  const { text, reason } = await runAgent({ prompt });
  return { text: await shout(text), reason };
}

/** With options of its caller's. */
export async function askedWith(options) {
  return (await runAgent({ prompt: 'Go.', options })).reason;
}

/** A workflow of every other name. */
export default function anyOther() {
  return Promise.resolve('any other');
}

/** With a signal of the SDK's own, as its stream library has. */
export async function stream() {
  let published;
  setHandler(defineSignal('__temporal_workflow_stream_publish'), (what) => void (published = what));
  await condition(() => published !== undefined);
  return published;
}

/** Knows nothing of agents: it is a tool of one. */
export async function loudly(text, times) {
  return (await shout(text)).repeat(times);
}

/** A defect: it never gives its thread back. */
export async function computeForever() {
  for (;;);
}

export async function waitFor(time) {
  await sleep(time);
  return 'waited';
}
