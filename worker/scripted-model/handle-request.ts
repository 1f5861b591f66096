// One request from its headers to the end of its answer: routes it, lets it in, asks the script, plays the reply.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse, IncomingHttpHeaders } from 'node:http';
import {
  apiError,
  errorData,
  errorHeaders,
  invalidRequest,
  type ApiError,
  readBody,
  type ReadBody,
} from './read-request.ts';
import { deliver, faultAnswer } from './delivery.ts';
import { buildMessage, type Signatures } from './message.ts';
import { pause, play, type Action } from './playback.ts';
import { promptBlocks, promptTokens, type PromptCache } from './prompt-cache.ts';
import type { RecordedRequest, Recorder } from './recorder.ts';
import type { ParsedRequest, Reply } from './script.ts';
import type { ScriptRunner } from './script-runner.ts';
import { headerProblem, parseBody, contentTypeProblem, SAMPLING_VERSION } from './validate/body.ts';
import { requestProblem } from './validate/request.ts';
import type { RequestRules } from './validate/shape.ts';

type Backstage = {
  readonly run: ScriptRunner;
  readonly records: Recorder;
  readonly cache: PromptCache;
  readonly signatures: Signatures;
  readonly rules: AdmissionRules;
  readonly problem: (what: string) => void;
  readonly log: (line: string) => void;
};

/** A response with what must be known about it. */
type Exchange = { readonly response: ServerResponse; readonly gone: AbortSignal; readonly requestId: string };

export function requestHandler(backstage: Backstage): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    response.on('error', () => gone.abort());
    const requestId = `req_scripted_${randomUUID().replaceAll('-', '')}`;
    const exchange: Exchange = { response, gone: gone.signal, requestId };
    route(backstage, request, exchange).catch((error: unknown) => {
      backstage.problem(`scripted model: a defect of its own: ${String(error)}`);
      if (response.headersSent) response.destroy();
      else answerError(exchange, apiError(500, String(error)));
    });
  };
}

async function route(backstage: Backstage, request: IncomingMessage, exchange: Exchange): Promise<void> {
  const [path = '/'] = (request.url ?? '/').split('?');
  const asked = `${request.method} ${path}`;
  if (asked === 'POST /v1/messages') return answerMessages(backstage, request, exchange);
  if (asked === 'POST /v1/messages/count_tokens') return answerCount(backstage, request, exchange);
  const model = /^GET \/v1\/models\/([^/]+)$/.exec(asked)?.[1];
  const refusal = model === undefined ? apiError(404, `Not found: ${asked}`) : headerProblem(request.headers);
  request.resume();
  if (refusal === undefined) answerJson(exchange, 200, modelInfo(model ?? '', backstage.rules));
  else answerError(exchange, refusal);
  backstage.log(`${asked} → ${exchange.response.statusCode}`);
}

async function answerCount(backstage: Backstage, request: IncomingMessage, exchange: Exchange): Promise<void> {
  const body = await readBody(request);
  if (body.kind === 'left') return;
  const admission = admit(request.headers, body, { ...backstage.rules, window: undefined }, true);
  if (admission.kind === 'admitted') {
    answerJson(exchange, 200, { input_tokens: promptTokens(promptBlocks(admission.request)) });
  } else {
    if (admission.misshapen) backstage.problem(`count_tokens: ${admission.error.message}`);
    answerError(exchange, admission.error);
  }
  backstage.log(`POST /v1/messages/count_tokens → ${exchange.response.statusCode}`);
}

async function answerMessages(backstage: Backstage, request: IncomingMessage, exchange: Exchange): Promise<void> {
  const record = backstage.records.begin(request.headers);
  const body = await readBody(request);
  if (body.kind === 'left') {
    record.ended = 'left';
    return;
  }
  const admission = admit(request.headers, body, backstage.rules, false);
  record.body = admission.kind === 'admitted' ? admission.request : admission.body;
  backstage.records.arrived(record);
  if (admission.kind === 'admitted') await answerFromScript(backstage, admission.request, record, exchange);
  else {
    if (admission.misshapen) backstage.problem(`request ${record.n}: ${admission.error.message}`);
    refuse(exchange, record, admission.error);
  }
  const step = record.step === null ? '' : `, replies.${record.step}`;
  backstage.log(`POST /v1/messages → ${record.status ?? 'no answer'} (request ${record.n}${step}, ${record.ended})`);
}

async function answerFromScript(
  backstage: Backstage,
  request: ParsedRequest,
  record: RecordedRequest,
  exchange: Exchange,
): Promise<void> {
  const answer = await backstage.run(request, `request ${record.n}`);
  if (answer.kind === 'broken') return breakDown(backstage, exchange, record, answer.why);
  const { reply } = answer;
  record.step = answer.step;
  if (reply.delayMs !== undefined) await pause(reply.delayMs, exchange.gone);
  const instead = faultAnswer(reply.fault);
  if (instead === undefined) return answerMessage(backstage, request, reply, record, exchange);
  if (instead.kind === 'error') return refuse(exchange, record, instead.error);
  const action: Action = instead.kind === 'silence' ? { do: 'silence' } : { do: 'cut' };
  record.ended = await play(exchange.response, [action], exchange.gone);
}

async function answerMessage(
  backstage: Backstage,
  request: ParsedRequest,
  reply: Reply,
  record: RecordedRequest,
  exchange: Exchange,
): Promise<void> {
  const message = buildMessage(reply, request, backstage.cache.use(request), backstage.signatures);
  const stream = request.stream === true;
  const delivery = deliver(reply, message, stream);
  if (delivery.kind === 'broken') return breakDown(backstage, exchange, record, delivery.why);
  record.status = 200;
  exchange.response.writeHead(200, {
    'content-type': stream ? 'text/event-stream; charset=utf-8' : 'application/json',
    'request-id': exchange.requestId,
    ...(stream ? { 'cache-control': 'no-cache' } : {}),
  });
  if (delivery.actions[0]?.do !== 'write') exchange.response.flushHeaders();
  record.ended = await play(exchange.response, delivery.actions, exchange.gone);
}

/** The script cannot answer: a 400, which no client retries, and a problem for whoever looks. */
function breakDown(backstage: Backstage, exchange: Exchange, record: RecordedRequest, why: string): void {
  backstage.problem(why);
  refuse(exchange, record, invalidRequest(why));
}

function refuse(exchange: Exchange, record: RecordedRequest, error: ApiError): void {
  record.ended = exchange.gone.aborted ? 'left' : 'finished';
  record.status = error.status;
  answerError(exchange, error);
}

function answerError(exchange: Exchange, error: ApiError): void {
  answerJson(exchange, error.status, errorData(error.type, error.message, exchange.requestId), errorHeaders(error));
}

function answerJson(exchange: Exchange, status: number, body: object, headers: Record<string, string> = {}): void {
  const { response, requestId } = exchange;
  response.writeHead(status, { 'content-type': 'application/json', ...headers, 'request-id': requestId });
  response.end(JSON.stringify(body));
}

// Lets a request in, or says what the API would refuse it with. In the API's order: key, version, type, size, JSON, shape, length.

type Admission =
  | { readonly kind: 'admitted'; readonly request: ParsedRequest }
  /** `body`: what could be parsed. `misshapen`: the client built a request that the API never takes (L58). */
  | { readonly kind: 'refused'; readonly error: ApiError; readonly misshapen: boolean; readonly body: unknown };

type AdmissionRules = Omit<RequestRules, 'betas' | 'sampling' | 'counting'> & {
  /** Tokens; undefined: any prompt fits. */
  readonly window: number | undefined;
  /** False: only that the body is JSON with messages. For clients that are measured, not tested. */
  readonly strict: boolean;
};

function admit(headers: IncomingHttpHeaders, body: ReadBody, rules: AdmissionRules, counting: boolean): Admission {
  const key = headerProblem(headers);
  if (key !== undefined) return refused(key, key.status === 400);
  const type = contentTypeProblem(headers);
  if (type !== undefined) return refused(type, true);
  if (body.kind === 'too_large') return refused(apiError(413), false);
  const parsed = parseBody(body.bytes);
  if (parsed.kind === 'invalid') return refused(invalidRequest(parsed.problem), true);
  const betas = String(headers['anthropic-beta'] ?? '')
    .split(/[\s,]+/)
    .filter((beta) => beta !== '');
  const sampling = headers['anthropic-version'] === SAMPLING_VERSION;
  const shape = { ...rules, betas, sampling, counting };
  const problem = rules.strict ? requestProblem(parsed.value, shape) : looseProblem(parsed.value);
  if (problem !== undefined) return refused(invalidRequest(problem), true, parsed.value);
  const request = parsed.value as ParsedRequest;
  const tooLong = rules.window === undefined ? undefined : lengthProblem(request, rules.window);
  if (tooLong !== undefined) return refused(invalidRequest(tooLong), false, request);
  return { kind: 'admitted', request };
}

function lengthProblem(request: ParsedRequest, window: number): string | undefined {
  const tokens = promptTokens(promptBlocks(request));
  return tokens > window ? `prompt is too long: ${tokens} tokens > ${window} maximum` : undefined;
}

function looseProblem(value: unknown): string | undefined {
  const messages = (value as { readonly messages?: unknown } | null)?.messages;
  return Array.isArray(messages) && messages.length > 0 ? undefined : 'messages: at least one message is required';
}

function refused(error: ApiError, misshapen: boolean, body: unknown = null): Admission {
  return { kind: 'refused', error, misshapen, body };
}

// The answer of GET /v1/models/:id: every id exists, with the limits the server was started with.

const WINDOW = 200_000;
const MOST_OUTPUT = 64_000;

type ModelLimits = { readonly window: number | undefined; readonly maxOutputTokens: number | undefined };

function modelInfo(id: string, limits: ModelLimits): object {
  return {
    type: 'model',
    id,
    display_name: `${id} (scripted)`,
    created_at: '1970-01-01T00:00:00Z',
    max_input_tokens: limits.window ?? WINDOW,
    max_tokens: limits.maxOutputTokens ?? MOST_OUTPUT,
  };
}
