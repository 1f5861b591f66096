// @ts-check
// A program as it is written for an in-process agent SDK: only the import is another. It pays
// orders back, and may be killed at any moment: started again, it goes on where it was. SHOP_URL
// answers for orders, for approvals and for the bank.
import { createSdkMcpServer, query, tool } from 'perdure/agent-sdk';
import { z } from 'zod';

/** @param {string} path @param {object} body @param {string} [key] */
async function ask(path, body, key) {
  const headers = { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) };
  const answer = await fetch(`${process.env.SHOP_URL}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  return answer.text();
}

/** @param {string} text */
const says = (text) => ({ content: [{ type: 'text', text }] });

const orders = tool(
  'orders',
  'Lists the orders of a customer.',
  { customer: z.string() },
  async (input) => says(await ask('/orders', input)),
  { annotations: { readOnlyHint: true } },
);

// The bank pays once for each key, so that the call may run again when its result was lost.
const refund = tool(
  'refund',
  'Pays an order back.',
  { order: z.string(), cents: z.number().int() },
  async (input, { idempotencyKey }) => says(await ask('/refunds', input, idempotencyKey)),
  { annotations: { idempotentHint: true } },
);

const messages = query({
  prompt: process.argv[2] ?? 'Pay back what Ada returned.',
  options: {
    systemPrompt: 'You work at the desk of a shop. Pay back what was returned, and nothing else.',
    tools: [],
    mcpServers: { shop: createSdkMcpServer({ name: 'shop', tools: [orders, refund] }) },
    canUseTool: async (_, input) => {
      const { allowed, why } = JSON.parse(await ask('/approvals', input));
      return allowed ? { behavior: 'allow', updatedInput: input } : { behavior: 'deny', message: why };
    },
  },
});
for await (const message of messages) console.log(JSON.stringify(message));
