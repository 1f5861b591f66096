// The rules of the loop by id, a line each.

type Rule = { readonly id: string; readonly rule: string };

export const rules: readonly Rule[] = [
  { id: 'L1', rule: 'The state is one immutable value, replaced whole at each transition' },
  { id: 'L2', rule: 'Spend belongs to the run and survives everything the run survives' },
  { id: 'L3', rule: 'Every iteration is decided by pure code; a replay reaches the same state' },
  { id: 'L4', rule: 'A run continues as new between any two iterations and loses nothing' },
  { id: 'L5', rule: 'The model sees what follows the last boundary' },
  { id: 'L6', rule: 'Large results are stored whole and shown as a preview, once decided for good' },
  { id: 'L7', rule: 'Snip: named entries leave what the model sees and stay in the transcript' },
  {
    id: 'L8',
    rule: 'Microcompact: old results become markers, the newest five stay, only when much is freed or the cache is cold',
  },
  { id: 'L9', rule: 'Context collapse: staged at warning, the oldest committed before the request would be critical' },
  {
    id: 'L10',
    rule: 'Autocompact: a summary and a boundary at critical, smaller than before, and given up when it does not help',
  },
  { id: 'L11', rule: 'The task budget is carried over compactions and told to the API' },
  { id: 'L12', rule: 'Blocking limit' },
  {
    id: 'L13',
    rule: "The run's query id and depth travel to tools, hooks, providers, handlers, watchers and the log",
  },
  { id: 'L14', rule: 'Streaming; Temporal alone retries; long waits hold no slot and are announced' },
  { id: 'L15', rule: 'Complete tool_use blocks decide; truncated calls, empty replies and refusals' },
  { id: 'L16', rule: 'Each attempt has one recorded fate' },
  { id: 'L17', rule: 'Recoverable errors are withheld until recovery has failed' },
  { id: 'L18', rule: 'Observers see enriched inputs, the stored ones are unchanged' },
  { id: 'L19', rule: 'Fallback models: at the third overload, at once on 404, never on 429' },
  { id: 'L20', rule: 'Any other API error ends the run with model_error' },
  { id: 'L21', rule: 'What is observed never delays or changes the loop' },
  { id: 'L22', rule: 'Prompt-cache breakpoints' },
  { id: 'L23', rule: 'collapse_drain_retry' },
  { id: 'L24', rule: 'reactive_compact_retry' },
  { id: 'L25', rule: 'prompt_too_long and image_error are shown when nothing recovers them' },
  { id: 'L26', rule: 'max_output_tokens_escalate' },
  { id: 'L27', rule: 'max_output_tokens_recovery' },
  { id: 'L28', rule: 'After three recoveries max_output_tokens; a truncated call never runs' },
  { id: 'L29', rule: 'Rate limits and authentication end as model_error' },
  { id: 'L30', rule: 'Stop hooks: a block goes back, eight a run; prevention ends the run; a failure is no block' },
  { id: 'L31', rule: 'Token budget: continue below nine tenths, unless there is no progress' },
  { id: 'L32', rule: 'Otherwise completed; a message that waits opens the next run' },
  { id: 'L33', rule: 'The order in which a call is looked up, checked, permitted, claimed, run and recorded' },
  { id: 'L34', rule: 'What is fatal for a run' },
  { id: 'L35', rule: 'Safe calls run together, unsafe ones alone; outcomes in the model order' },
  { id: 'L36', rule: 'A failing shell call cancels its siblings' },
  { id: 'L37', rule: 'Safe calls start while the reply streams' },
  { id: 'L38', rule: "Context modifiers take effect in the model's order" },
  { id: 'L39', rule: 'Every call has exactly one outcome' },
  {
    id: 'L40',
    rule: 'A claimed call runs again only when that changes nothing, a check shows so, or a person says so',
  },
  { id: 'L41', rule: 'hook_stopped' },
  {
    id: 'L42',
    rule: 'Batch summaries are made beside the next model call',
  },
  {
    id: 'L43',
    rule: 'Attachments ride with the outcomes: queued messages each once and in order, memory, changed files',
  },
  { id: 'L44', rule: 'The tool list is refreshed between iterations' },
  { id: 'L45', rule: 'maxTurns' },
  { id: 'L46', rule: 'Otherwise next_turn' },
  { id: 'L47', rule: 'Interrupt outside tools: aborted_streaming' },
  { id: 'L48', rule: 'Interrupt during tools: aborted_tools' },
  { id: 'L49', rule: 'Cancelling the session closes it' },
  { id: 'L50', rule: 'Shutdown, deploy and timeout of an attempt are not a stop' },
  { id: 'L51', rule: 'Runtime limit and budget; a wrap-up, where it is wanted' },
  { id: 'L52', rule: 'Three entry points, one loop' },
  { id: 'L53', rule: 'Structured output is checked before stop hooks, and asked for again five times' },
  { id: 'L54', rule: 'The whole loop runs with scripted dependencies and no server' },
  { id: 'L55', rule: 'Permissions: rules, modes, and approvals that wait in the workflow' },
  {
    id: 'L56',
    rule: 'After-stop handlers run once after a natural end and finish before the session closes',
  },
  { id: 'L57', rule: 'A run works with the snapshot it started with' },
  { id: 'L58', rule: 'System prompt fixed per run; no request is a 400 by its shape' },
  {
    id: 'L59',
    rule: 'Signed thinking goes back unchanged; no compaction cuts a trajectory; after a fallback there is none',
  },
  { id: 'L60', rule: 'Watchers see request starts, retries, hooks and compactions' },
  { id: 'L61', rule: 'A message is durable before it is acknowledged, then taken, then completed' },
];

/** Rules of what an operator sees. */
export const operatorRules: readonly Rule[] = [
  {
    id: 'O14',
    rule: 'Metrics for Prometheus: what a process did, and what sessions there are, in bounded sets of labels',
  },
  {
    id: 'O15',
    rule: 'One trace for each run, over crashes, handovers and hosts, without content',
  },
  { id: 'O16', rule: 'One log, a line for each event of a run, with its place and without secrets' },
  {
    id: 'O17',
    rule: 'Health and readiness, alerts with what to do, hooks that tell someone, a dashboard that Prometheus can answer',
  },
];
