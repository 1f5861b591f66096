// One request from its headers to the end of its answer: routes it, lets it in, asks the script,
// plays the reply.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { admit, betasOf, type AdmissionRules, type Admitted } from './admit.ts';
import { apiError, errorData, errorHeaders, invalidRequest, type ApiError, readBody } from './read-request.ts';
import { deliver, faultAnswer } from './answer/delivery.ts';
import { messageFor, type Display } from './answer/message-for.ts';
import { modelInfo, modelList, type ModelLimits } from './models/models-api.ts';
import { pause, play, type Action } from './answer/playback.ts';
import { promptBlocks, promptTokens, type PromptCache } from './prompt-cache.ts';
import type { RecordedRequest, Recorder } from './recorder.ts';
import type { Reply } from './script.ts';
import type { ScriptRunner } from './script-runner.ts';
import type { Bindings } from './thinking/bindings.ts';
import { headerProblem } from './validate/body.ts';

type Backstage = {
  readonly run: ScriptRunner;
  readonly records: Recorder;
  readonly cache: PromptCache;
  readonly bindings: Bindings;
  readonly rules: AdmissionRules;
  readonly display: Display | undefined;
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
  const [path = '/', search = ''] = (request.url ?? '/').split('?');
  const asked = `${request.method} ${path}`;
  if (asked === 'POST /v1/messages') return answerMessages(backstage, request, exchange);
  if (asked === 'POST /v1/messages/count_tokens') return answerCount(backstage, request, exchange);
  const found = modelsAnswer(asked, search, backstage.rules, betasOf(request.headers));
  const refusal = found === undefined ? apiError(404, `Not found: ${asked}`) : headerProblem(request.headers);
  request.resume();
  if (found !== undefined && refusal === undefined) answerJson(exchange, 200, found);
  else answerError(exchange, refusal ?? apiError(404));
  backstage.log(`${asked} → ${exchange.response.statusCode}`);
}

/** Undefined for another path. */
function modelsAnswer(
  asked: string,
  search: string,
  limits: ModelLimits,
  betas: readonly string[],
): object | undefined {
  if (asked === 'GET /v1/models') return modelList(search, limits, betas);
  const id = /^GET \/v1\/models\/([^/]+)$/.exec(asked)?.[1];
  return id === undefined ? undefined : modelInfo(decoded(id), limits, betas);
}

/** A name that is not well encoded is taken as it is: no model is called so. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

async function answerCount(backstage: Backstage, request: IncomingMessage, exchange: Exchange): Promise<void> {
  const body = await readBody(request);
  if (body.kind === 'left') return;
  const admission = admit(request.headers, body, { ...backstage.rules, window: undefined }, backstage.bindings, true);
  if (admission.kind === 'admitted') {
    answerJson(exchange, 200, { input_tokens: promptTokens(promptBlocks(admission.shown)) });
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
  const admission = admit(request.headers, body, backstage.rules, backstage.bindings, false);
  record.body = admission.kind === 'admitted' ? admission.request : admission.body;
  backstage.records.arrived(record);
  if (admission.kind === 'admitted') await answerFromScript(backstage, admission, record, exchange);
  else {
    if (admission.misshapen) backstage.problem(`request ${record.n}: ${admission.error.message}`);
    refuse(exchange, record, admission.error);
  }
  const step = record.step === null ? '' : `, replies.${record.step}`;
  backstage.log(`POST /v1/messages → ${record.status ?? 'no answer'} (request ${record.n}${step}, ${record.ended})`);
}

async function answerFromScript(
  backstage: Backstage,
  admitted: Admitted,
  record: RecordedRequest,
  exchange: Exchange,
): Promise<void> {
  const answer = await backstage.run(admitted.request, `request ${record.n}`);
  if (answer.kind === 'broken') return breakDown(backstage, exchange, record, answer.why);
  const { reply } = answer;
  record.step = answer.step;
  if (reply.delayMs !== undefined) await pause(reply.delayMs, exchange.gone);
  const instead = faultAnswer(reply.fault);
  if (instead === undefined) return answerMessage(backstage, admitted, reply, record, exchange);
  if (instead.kind === 'error') return refuse(exchange, record, instead.error);
  const action: Action = instead.kind === 'silence' ? { do: 'silence' } : { do: 'cut' };
  record.ended = await play(exchange.response, [action], exchange.gone);
}

async function answerMessage(
  backstage: Backstage,
  admitted: Admitted,
  reply: Reply,
  record: RecordedRequest,
  exchange: Exchange,
): Promise<void> {
  const { request, shown } = admitted;
  const { bindings, display } = backstage;
  const message = messageFor({ admitted, cache: backstage.cache.use(shown), bindings, display }, reply);
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
  const { status, type, message, details } = error;
  answerJson(exchange, status, errorData(type, message, exchange.requestId, details), errorHeaders(error));
}

function answerJson(exchange: Exchange, status: number, body: object, headers: Record<string, string> = {}): void {
  const { response, requestId } = exchange;
  response.writeHead(status, { 'content-type': 'application/json', ...headers, 'request-id': requestId });
  response.end(JSON.stringify(body));
}
