// Examples for each command, shown below its help. A test parses each of them.
const examples: Readonly<Record<string, readonly (readonly [line: string, what: string])[]>> = {
  chat: [
    ['perdure', 'begins a conversation in this folder'],
    ['perdure -c', 'goes on with the newest one'],
    ['perdure -r s-4k2', 'goes on with this one'],
  ],
  dev: [
    ['perdure dev --metrics 9464', 'server, worker and page, with metrics on port 9464'],
    ['perdure dev --ui', "and Temporal's own UI, which asks nobody who they are"],
  ],
  worker: [['perdure worker --config perdure.config.ts --log-level warn', 'works on what it is configured for']],
  page: [['perdure page', 'the ops page alone']],
  serve: [['perdure serve --port 7420', 'the HTTP API on 127.0.0.1:7420']],
  environments: [
    ['perdure environments key env_4k2', 'for a worker of your own: `pdr-env-…`, printed once'],
    ['perdure environments key env_4k2 --only', 'the same, and no other key counts any more'],
  ],
  'codec-server': [
    ['perdure codec-server', 'for `temporal … --codec-endpoint http://127.0.0.1:8081` on this machine'],
    ['perdure codec-server --origin https://ui.example --tokens people.json', 'for pages of that site, too'],
    [
      'perdure codec-server --oidc-issuer https://id.example/ --oidc-audience codec --oidc-allow sub=4k2',
      'for this account of a provider: `sub` stays, while an address may change hands',
    ],
  ],
  run: [
    ['perdure run "fix the failing test"', 'asks here about what it may not do'],
    ['perdure run --permission-mode acceptEdits --allow "bash(npm test)" "make the tests pass"', 'asks less'],
    ['perdure run --json --prompt-file task.md', 'events for a program'],
  ],
  start: [['perdure start --max-budget-usd 2 "port it to Go"', 'prints the session’s id and leaves']],
  schedule: [
    ['perdure schedule create "0 6 * * 1" "update the dependencies" --name deps', 'a session each Monday at six'],
    ['perdure schedule create @daily "what is new?" --session s-4k2', 'the next prompt of this session'],
    ['perdure schedule update deps --time-zone Europe/Berlin --max-turns none', 'from its next firing on'],
    ['perdure schedule list', 'when each is due next, and its newest session'],
  ],
  watch: [['perdure watch s-4k2', 'follows it to the end of its run']],
  send: [
    ['perdure send s-4k2 "use tabs"', 'the model reads it before its next call'],
    ['perdure send --now s-4k2 "stop, and do this first"', 'interrupts the run for it'],
  ],
  approvals: [['perdure approvals', 'of all sessions']],
  approve: [['perdure approve s-4k2 1.2.0', 'lets the call run']],
  answer: [['perdure answer s-4k2 1.2.0 "the second one"', 'answers a question of the model']],
  deny: [['perdure deny s-4k2 1.2.0 --reason "not on main"', 'the model reads why']],
  interrupt: [['perdure interrupt s-4k2', 'the session stays open']],
  cancel: [['perdure cancel s-4k2', 'closes it for good']],
  resume: [['perdure resume s-4k2', 'ends its wait for the provider']],
  compact: [['perdure compact s-4k2 keep the names of the tests', 'the summary keeps them']],
  open: [['perdure open s-4k2', 'in the browser, signed in']],
  skills: [['perdure skills', 'those that runs in this folder may load']],
  memory: [
    ['perdure memory', 'the notes of this folder'],
    ['perdure memory edit s-4k2-1-3fa0c1', 'in your editor'],
  ],
  'mcp-tools': [['perdure mcp-tools files', 'the tools of this server, as rules name them']],
  snip: [['perdure snip s-4k2 12 13', 'the model no longer sees entries 12 and 13']],
  btw: [['perdure btw s-4k2 which files have you changed so far?', 'its run goes on meanwhile']],
  move: [['perdure move s-4k2 --host build-2', 'with its files; its next call runs there']],
  'top-up': [['perdure top-up s-4k2 --max-turns 80', '80 in all']],
  list: [
    ["perdure list 'phase:waiting cost>1 tag:team=web'", 'what waits for a person and has cost more than a dollar'],
    ['perdure list --json', 'for a program'],
  ],
  top: [['perdure top phase:running', 'what runs, live']],
  show: [
    ['perdure show s-4k2', 'what was said and done'],
    ['perdure show s-4k2 --timeline', 'where the time went'],
  ],
  diff: [
    ['perdure diff s-4k2 --stat', 'the files that it has changed'],
    ['perdure diff s-4k2 --from 2.1 src', 'the patch since iteration 1 of run 2, of this folder'],
  ],
  apply: [['perdure apply s-4k2 --to-dir ../other', 'the same changes in another checkout']],
  logs: [['perdure logs s-4k2', 'each step, and who carried it out']],
  rewind: [
    ['perdure rewind s-4k2 --dry-run', 'what going back before the last prompt would do'],
    ['perdure rewind s-4k2 --to 2.1 --files', 'the files as they were before iteration 1 of run 2'],
  ],
  fork: [
    ['perdure fork s-4k2 "Try it with SQLite instead."', 'another way from here, in a folder of its own'],
    ['perdure fork s-4k2 --at 2.1 --worktree', 'from iteration 1 of run 2, on a branch of its own'],
  ],
  repair: [['perdure repair s-4k2', 'says what is lost; --apply goes on without it']],
  export: [['perdure export s-4k2 report.perdure', 'a file that import takes']],
  import: [['perdure import report.perdure', 'under the same id']],
  gc: [['perdure gc --dry-run', 'what would be dropped']],
  doctor: [['perdure doctor', 'what is missing on this machine']],
  setup: [['perdure setup', 'search attributes, on a server of your own']],
  'scripted-model': [['perdure scripted-model --script script.json --port 4099', 'a model for tests']],
  completions: [
    ['source <(perdure completions bash)', 'in ~/.bashrc; zsh likewise, after compinit'],
    ['perdure completions fish | source', 'in ~/.config/fish/config.fish'],
  ],
};

export const examplesOf = (command: string): readonly string[] => (examples[command] ?? []).map(([line]) => line);

/** Returns an empty text for a command without examples. */
export function exampleHelp(command: string): string {
  const entries = examples[command] ?? [];
  if (entries.length === 0) return '';
  return `\n${entries.length === 1 ? 'Example' : 'Examples'}:\n${entries.map(([line, what]) => `  ${line}\n      ${what}`).join('\n')}\n`;
}
