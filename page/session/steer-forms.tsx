// Forms to set limits of the current run and to set options for the next. They are drawn once
// with the page, so that typed text stays while everything else changes.
import type { Child } from 'hono/jsx';
import { showUnseen } from '../../system/text.ts';
import { formatCount, formatMoney } from '../../client/faces/basics.ts';
import { isUnderWay } from '../../client/faces/lists.ts';
import type { RunConfig } from '../../client/faces/types.ts';
import { permissionModes } from '../../client/faces/options.ts';
import type { Standing } from '../feed/standing.tsx';

type Props = { readonly path: string; readonly config: RunConfig | null };

/** `limits` is the place of the limits in force, which change under the form. */
export function SteerForms({ path, config, limits }: Props & { readonly limits: Child }) {
  return (
    <div class="steer" id="steer" data-needs="steer">
      <MoreForm path={path} limits={limits} />
      <NextForm path={path} config={config} />
    </div>
  );
}

function MoreForm({ path, limits }: { readonly path: string; readonly limits: Child }) {
  return (
    <form hx-post={`${path}/topUp`} hx-target="#said" aria-labelledby="more-title">
      <h2 id="more-title">Limits of the current run</h2>
      {limits}
      <p class="quiet">Counted from the start of the run. If the run is already over the new limit, it stops.</p>
      <div class="fields">
        <AmountField name="maxTurns" label="Turns" />
        <AmountField name="maxBudgetUsd" label="US dollars" />
        <AmountField name="maxTokens" label="Tokens" />
        <AmountField name="minutes" label="Minutes" />
      </div>
      <button>Set limits</button>
    </form>
  );
}

/** Says which limits are in force: those that the run began with, or that were set since. */
export function LimitsNow({ standing: { seen: description, config, recent } }: { readonly standing: Standing }) {
  // The form below it is hidden by this mark.
  if (!isUnderWay(description))
    return (
      <p id="limits-now" class="quiet" data-no-run>
        No run is in progress. Send a message to start one.
      </p>
    );
  const { maxTurns, maxBudgetUsd, maxTokens, timeoutMs } = { ...config?.rules, ...recent.raised };
  const set = [
    ...(maxTurns == null ? [] : [formatCount(maxTurns, 'turn')]),
    ...(maxBudgetUsd == null ? [] : [formatMoney(maxBudgetUsd)]),
    ...(maxTokens == null ? [] : [formatCount(maxTokens, 'token')]),
    ...(timeoutMs == null ? [] : [formatCount(timeoutMs / 60_000, 'minute')]),
  ];
  if (set.length === 0) return <p id="limits-now">{config === null ? '' : 'No limits set'}</p>;
  return <p id="limits-now">{`Now: ${set.join(', ')}`}</p>;
}

function AmountField({ name, label }: { readonly name: string; readonly label: string }) {
  return (
    <label>
      <span>{label}</span>
      <input name={name} inputmode="decimal" autocomplete="off" placeholder="unchanged" />
    </label>
  );
}

function NextForm({ path, config }: Props) {
  const { allow = [], ask = [], deny = [] } = config?.permissions ?? {};
  return (
    <form hx-post={`${path}/options`} hx-target="#said" aria-labelledby="next-title">
      <h2 id="next-title">From the next run on</h2>
      <p class="quiet">
        Leave a field blank to keep it, or enter “none” to use the worker’s default. One rule per line; these replace
        all of the session’s rules.
      </p>
      <div class="fields">
        <label>
          <span>Model</span>
          <input
            name="model"
            autocomplete="off"
            spellcheck={false}
            placeholder={showUnseen(config?.models[0].name ?? '')}
          />
        </label>
        <label>
          <span>Permission mode</span>
          <select name="permissionMode">
            <option value="">{config ? `unchanged: ${config.mode}` : 'unchanged'}</option>
            {permissionModes.map((mode) => (
              <option value={mode}>{mode}</option>
            ))}
          </select>
        </label>
      </div>
      <div class="fields">
        <RulesField name="allow" label="Allow rules" now={allow} />
        <RulesField name="ask" label="Ask rules" now={ask} />
        <RulesField name="deny" label="Deny rules" now={deny} />
      </div>
      <button>Save</button>
    </form>
  );
}

function RulesField({
  name,
  label,
  now,
}: {
  readonly name: string;
  readonly label: string;
  readonly now: readonly string[];
}) {
  return (
    <label>
      <span>{label}</span>
      <textarea name={name} rows={3} spellcheck={false} placeholder={showUnseen(now.join('\n'))} />
    </label>
  );
}
