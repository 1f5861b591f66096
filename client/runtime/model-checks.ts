// Checks the model for `perdure doctor`: how it is reached, and what its server and the catalogue
// know of the models that runs use (X1).
import { reasonOf } from '../../system/text.ts';
import type { PerdureConfig } from '../../worker/config/config.ts';
import { runDefaults } from '../../worker/config/defaults.ts';
import type { Env } from '../../connection/data-folder.ts';
import { isKeyless } from '../../worker/keyless.ts';
import { askModels, openClient } from '../../worker/model-access.ts';
import { modelSettings } from '../../worker/model-settings.ts';
import { catalogue } from '../../models/catalogue.ts';
import { createModels, parseServerModel, type ServerModel } from '../../models/models.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { oneLine } from '../paint.ts';
import type { ModelFacts } from '../../store/model-facts.ts';
import { type Check, okCheck, noteCheck, missingCheck } from './network-checks.ts';

export async function modelChecks(env: Env, config: PerdureConfig): Promise<readonly Check[]> {
  if (isKeyless(env))
    return [
      noteCheck('model', 'scripted: set ANTHROPIC_API_KEY for a real one; until then only the demo task can be done'),
    ];
  try {
    const { client, official, close } = openClient(env);
    try {
      return [accessCheck(env, modelSettings(env)), ...(await eachModel(client, official, config))];
    } finally {
      await close();
    }
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return [missingCheck('model', error.message)];
  }
}

function accessCheck(env: Env, { authToken, baseURL }: ReturnType<typeof modelSettings>): Check {
  const key = env['ANTHROPIC_API_KEY']?.trim()
    ? 'ANTHROPIC_API_KEY is set'
    : authToken === null
      ? 'no key'
      : 'ANTHROPIC_AUTH_TOKEN is set';
  return okCheck('model', baseURL === undefined ? key : `${key}, at ${bareAddress(baseURL)}`);
}

/** Hides the query, in which some servers expect a key. */
function bareAddress(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname}${search === '' ? '' : '?…'}`;
}

/** Milliseconds that the server may take to describe a model. */
const TIMEOUT_MS = 5_000;

type ServerAnswer =
  { readonly kind: 'said'; readonly model: ServerModel } | { readonly kind: 'silent' | 'gone'; readonly why: string };

type Client = ReturnType<typeof openClient>['client'];

/** Checks the primary model, its fallbacks and the small one, each under the name that is sent. */
async function eachModel(client: Client, official: boolean, config: PerdureConfig): Promise<readonly Check[]> {
  const {
    model = runDefaults.model,
    fallbackModels = [],
    smallModel = runDefaults.smallModel,
    models: configured,
  } = config;
  const models = createModels({ model, configured, official });
  const found = [...new Set([model, ...fallbackModels, smallModel])].map((name) => ({ name, ...models.find(name) }));
  return Promise.all(
    found.map(async (each) => {
      if ('problem' in each) return missingCheck('models', each.problem);
      const answer = await ask(client, each.name);
      return oneModel(
        each.name,
        { ...models.facts(each.name), ...(answer.kind === 'said' && pickKnownSizes(answer.model)) },
        answer,
        official,
      );
    }),
  );
}

async function ask(client: Client, name: string): Promise<ServerAnswer> {
  try {
    const model = parseServerModel(await askModels(client)(name, AbortSignal.timeout(TIMEOUT_MS)));
    return model ? { kind: 'said', model } : { kind: 'silent', why: 'its server has no Models API' };
  } catch (error) {
    const { status } = error as { readonly status?: number };
    if (status === 404) return { kind: 'gone', why: 'its server does not know it' };
    return { kind: 'silent', why: `its server could not be asked (${status ?? oneLine(reasonOf(error), 100)})` };
  }
}

function pickKnownSizes({ window, maxOutput, retires }: ServerModel): Partial<ModelFacts> {
  return { ...(window && { window }), ...(maxOutput && { maxOutput }), ...(retires && { retires }) };
}

function oneModel(name: string, facts: ModelFacts, answer: ServerAnswer, official: boolean): Check {
  const source = answer.kind === 'said' ? 'as its server says' : `by the catalogue of ${catalogue.date}: ${answer.why}`;
  const found = `${name}: ${describe(facts)}; ${source}`;
  if (answer.kind === 'gone' && official) return missingCheck('models', `${found}; name another in the configuration`);
  if (answer.kind === 'said' && answer.model.lifecycle === 'retired')
    return missingCheck('models', `${found}; it is retired, name another`);
  return facts.price === null || facts.assumed || facts.retires ? noteCheck('models', found) : okCheck('models', found);
}

function describe({ window, maxOutput, price, assumed, retires }: ModelFacts): string {
  const tokens = (count: number): string => count.toLocaleString('en');
  const size = `${assumed ? 'an assumed window of ' : 'a window of '}${tokens(window)} tokens, answers of ${tokens(maxOutput)}`;
  const cost = price ? `$${price.input} in and $${price.output} out per million` : 'no known price';
  return [size, cost, ...(retires ? [`ends on ${retires}`] : [])].join(', ');
}
