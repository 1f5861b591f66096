// What the tests of the scripted model share: a server that ends with its test, raw requests, and
// the SDK as a client.
import Anthropic from '@anthropic-ai/sdk';
import { onTestFinished } from 'vitest';
import { startScriptedModel } from '../../scripted-model/index.ts';
import type { ScriptedModel, ScriptedModelOptions } from '../../scripted-model/index.ts';

export async function model(script: ScriptedModelOptions['script'], options: Partial<ScriptedModelOptions> = {}) {
  const started = await startScriptedModel({ script, ...options });
  onTestFinished(() => started.close());
  return started;
}

export function sdk(server: ScriptedModel): Anthropic {
  return new Anthropic({ apiKey: 'scripted', authToken: null, baseURL: server.url, maxRetries: 0 });
}

export type Body = Readonly<Record<string, unknown>>;

export const hello = {
  model: 'claude-test-1',
  max_tokens: 1_000,
  messages: [{ role: 'user' as const, content: 'hello' }],
};

/** A conversation that stands at the results of one round of calls. */
export function afterCalls(...ids: readonly string[]) {
  return [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: ids.map((id) => ({ type: 'tool_use', id, name: 'read', input: {} })) },
    { role: 'user', content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: `result of ${id}` })) },
  ];
}

export const headers = {
  'content-type': 'application/json',
  'x-api-key': 'scripted',
  'anthropic-version': '2026-10-21',
};

export function post(server: ScriptedModel, body: unknown, extra: Record<string, string> = {}, path = '/v1/messages') {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(`${server.url}${path}`, { method: 'POST', headers: { ...headers, ...extra }, body: text });
}

export type ErrorAnswer = {
  readonly type: string;
  readonly error: { readonly type: string; readonly message: string };
};

export async function refusal(response: Response): Promise<{ status: number; type: string; message: string }> {
  const { error } = (await response.json()) as ErrorAnswer;
  return { status: response.status, ...error };
}

/** The bytes that arrive before the body ends or breaks. */
export async function received(response: Response): Promise<{ bytes: Buffer; whole: boolean }> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) chunks.push(chunk);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { bytes: Buffer.concat(chunks), whole: false };
  }
  return { bytes: Buffer.concat(chunks), whole: true };
}

export type SseEvent = { readonly event: string; readonly data: Readonly<Record<string, unknown>> };

export function parseSse(text: string): readonly SseEvent[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const [, event = '', data = ''] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
      return { event, data: JSON.parse(data) as SseEvent['data'] };
    });
}
