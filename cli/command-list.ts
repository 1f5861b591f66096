// The commands of `perdure` by what people use them for, in the order of the help. Each is loaded
// when it is used.
import type { Command } from 'commander';
import type { Cli } from './cli.ts';

type CommandGroup = 'Work' | 'Look' | 'Decide' | 'Serve' | 'Keep';

/** Adds a command to the program. */
type AddCommand = (program: Command, cli: Cli) => void;

export type ListedCommand = {
  readonly name: string;
  readonly group: CommandGroup;
  readonly load: () => Promise<AddCommand>;
};

export const LISTED_COMMANDS: readonly ListedCommand[] = [
  { name: 'chat', group: 'Work', load: async () => (await import('./commands/chat.ts')).chatCommand },
  { name: 'run', group: 'Work', load: async () => (await import('./commands/run.ts')).runCommand },
  { name: 'start', group: 'Work', load: async () => (await import('./commands/start.ts')).startCommand },
  { name: 'send', group: 'Work', load: async () => (await import('./commands/send.ts')).sendCommand },
  { name: 'btw', group: 'Work', load: async () => (await import('./commands/btw.ts')).btwCommand },
  { name: 'answer', group: 'Work', load: async () => (await import('./commands/answer.ts')).answerCommand },
  { name: 'watch', group: 'Work', load: async () => (await import('./commands/watch.ts')).watchCommand },
  { name: 'schedule', group: 'Work', load: async () => (await import('./commands/schedule.ts')).scheduleCommand },
  { name: 'skills', group: 'Work', load: async () => (await import('./commands/skills.ts')).skillsCommand },
  { name: 'memory', group: 'Work', load: async () => (await import('./commands/memory.ts')).memoryCommand },
  { name: 'mcp-tools', group: 'Work', load: async () => (await import('./commands/mcp-tools.ts')).mcpToolsCommand },
  { name: 'start-here', group: 'Work', load: async () => (await import('./commands/start-here.ts')).startHereCommand },
  { name: 'list', group: 'Look', load: async () => (await import('./commands/list.ts')).listCommand },
  { name: 'top', group: 'Look', load: async () => (await import('./commands/top.ts')).topCommand },
  { name: 'show', group: 'Look', load: async () => (await import('./commands/show.ts')).showCommand },
  { name: 'logs', group: 'Look', load: async () => (await import('./commands/logs.ts')).logsCommand },
  { name: 'diff', group: 'Look', load: async () => (await import('./commands/diff.ts')).diffCommand },
  { name: 'open', group: 'Look', load: async () => (await import('./commands/open.ts')).openCommand },
  { name: 'approvals', group: 'Decide', load: async () => (await import('./commands/approvals.ts')).approvalsCommand },
  { name: 'approve', group: 'Decide', load: async () => (await import('./commands/approve.ts')).approveCommand },
  { name: 'deny', group: 'Decide', load: async () => (await import('./commands/deny.ts')).denyCommand },
  { name: 'interrupt', group: 'Decide', load: async () => (await import('./commands/interrupt.ts')).interruptCommand },
  { name: 'resume', group: 'Decide', load: async () => (await import('./commands/resume.ts')).resumeCommand },
  { name: 'cancel', group: 'Decide', load: async () => (await import('./commands/cancel.ts')).cancelCommand },
  { name: 'compact', group: 'Decide', load: async () => (await import('./commands/compact.ts')).compactCommand },
  { name: 'rewind', group: 'Decide', load: async () => (await import('./commands/rewind.ts')).rewindCommand },
  { name: 'fork', group: 'Decide', load: async () => (await import('./commands/fork.ts')).forkCommand },
  { name: 'apply', group: 'Decide', load: async () => (await import('./commands/apply.ts')).applyCommand },
  { name: 'top-up', group: 'Decide', load: async () => (await import('./commands/top-up.ts')).topUpCommand },
  { name: 'snip', group: 'Decide', load: async () => (await import('./commands/snip.ts')).snipCommand },
  { name: 'dev', group: 'Serve', load: async () => (await import('./commands/dev.ts')).devCommand },
  { name: 'worker', group: 'Serve', load: async () => (await import('./commands/worker.ts')).workerCommand },
  { name: 'page', group: 'Serve', load: async () => (await import('./commands/page.ts')).pageCommand },
  { name: 'serve', group: 'Serve', load: async () => (await import('./commands/serve.ts')).serveCommand },
  {
    name: 'scripted-model',
    group: 'Serve',
    load: async () => (await import('./commands/scripted-model.ts')).scriptedModelCommand,
  },
  { name: 'export', group: 'Keep', load: async () => (await import('./commands/export.ts')).exportCommand },
  { name: 'import', group: 'Keep', load: async () => (await import('./commands/import.ts')).importCommand },
  { name: 'repair', group: 'Keep', load: async () => (await import('./commands/repair.ts')).repairCommand },
  { name: 'gc', group: 'Keep', load: async () => (await import('./commands/gc.ts')).gcCommand },
  { name: 'doctor', group: 'Keep', load: async () => (await import('./commands/doctor.ts')).doctorCommand },
  { name: 'setup', group: 'Keep', load: async () => (await import('./commands/setup.ts')).setupCommand },
  {
    name: 'completions',
    group: 'Keep',
    load: async () => (await import('./commands/completions.ts')).completionsCommand,
  },
];
