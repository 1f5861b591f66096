// The models of a run, from the names that its caller and its worker gave (X1, X2), and whether
// they can do what is asked of them.
import type { RunConfig, RunModel } from '../../store/configuration.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import type { Deps } from '../deps.ts';

type RunModels = Pick<RunConfig, 'models' | 'smallModel'>;

/**
 * Finds the models of a run. Returns a sentence when a name belongs to no model, or the models
 * cannot do what is asked.
 */
export async function findRunModels(
  { models, defaults }: Pick<Deps, 'models' | 'defaults'>,
  options: RunOptions,
): Promise<RunModels | string> {
  const wantedNames = [options.model ?? defaults.model, ...(options.fallbackModels ?? defaults.fallbackModels)];
  const found = [...wantedNames, defaults.smallModel].map((name) => models.find(name));
  const wrong = found.find((each) => 'problem' in each);
  if (wrong && 'problem' in wrong) return wrong.problem;
  const names = found.flatMap((each) => ('name' in each ? [each.name] : []));
  await models.lookUp([...new Set(names)]);
  const all = names.map((name) => ({ name, ...models.facts(name) }));
  const [primary, ...rest] = all.slice(0, -1) as [RunModel, ...RunModel[]];
  // A worker's list may begin with the model that a caller chose: asking it again would gain
  // nothing.
  const fallbacks = rest.filter(({ name }, at) => name !== (at === 0 ? primary : rest[at - 1])?.name);
  const chosen: RunModels = { models: [primary, ...fallbacks], smallModel: all.at(-1) ?? primary };
  return (
    checkPrices([...chosen.models, chosen.smallModel], options) ??
    checkThinking(primary, options) ??
    checkEffort(primary, options) ??
    chosen
  );
}

function checkThinking({ name, maxOutput }: RunModel, { thinkingTokens }: RunOptions): string | undefined {
  if (thinkingTokens === undefined || thinkingTokens < maxOutput) return undefined;
  return `thinking tokens are ${thinkingTokens}, and all that ${name} may answer with is ${maxOutput} tokens: give fewer`;
}

/** A model that is not known may be asked anything. */
function checkEffort({ name, effort, thinking }: RunModel, { effort: wanted }: RunOptions): string | undefined {
  if (wanted === undefined || effort?.levels.includes(wanted)) return undefined;
  if (effort) return `${name} has no effort "${wanted}": there are ${effort.levels.join(', ')}`;
  return thinking && `${name} takes no effort: leave it out, or choose another model`;
}

/**
 * Requires a price of every model that may be asked when there is a budget: a model without one
 * would count for nothing.
 */
function checkPrices(models: readonly RunModel[], { maxBudgetUsd, sessionBudgetUsd }: RunOptions): string | undefined {
  const unpriced = models.find(({ price }) => price === null);
  if ((maxBudgetUsd ?? sessionBudgetUsd) === undefined || unpriced === undefined) return undefined;
  return (
    `a budget in US dollars cannot be kept with model ${unpriced.name}: its price is not known; use a known model, leave the budget out, ` +
    `or add its prices per million tokens to the configuration: ${writePriceLine(unpriced.name)}`
  );
}

/** Writes the line of a configuration that says what a model costs. */
export function writePriceLine(name: string): string {
  return `models: { ${JSON.stringify(name)}: { price: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } } }`;
}
