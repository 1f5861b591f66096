// Full windows: what makes room, and what ends a run when nothing does.
import { fault, reply, toolUse, type Reply } from '../../../scripted-model/index.ts';
import { cut, type Scenario } from './scenario.ts';

/** A window that four reads of the large file fill. */
const small = { models: { 'claude-sonnet-': { window: 30_000, maxOutput: 8_000, price: null } } };
const noCollapse = { ...small, compaction: { collapse: false } };
/** `tokens`: what the API counts in context at this reply. */
const large = (tokens?: number): Reply => reply([toolUse('read', { path: 'large.txt' })], counted(tokens));

const counted = (tokens: number | undefined): Pick<Reply, 'usage'> => {
  if (tokens === undefined) return {};
  return { usage: { input_tokens: tokens, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 } };
};

export const contextScenarios: readonly Scenario[] = [
  {
    name: 'autocompact at critical, and the run goes on (L5 L10)',
    replies: [large(), large(), large(), large(26_000), reply('The files were read.'), reply('Done.')],
    config: noCollapse,
    transitions: ['next_turn', 'next_turn', 'next_turn', 'next_turn'],
    reason: 'completed',
    turns: 5,
    requests: 6,
  },
  {
    name: 'max_output_tokens_escalate near the end of the window (L26)',
    replies: [{ ...cut('Half of'), usage: { input_tokens: 55_000, output_tokens: 32_000 } }, reply('The whole of it.')],
    config: { models: { 'claude-sonnet-': { window: 100_000, maxOutput: 64_000, price: null } } },
    transitions: ['max_output_tokens_escalate'],
    reason: 'completed',
    turns: 1,
    requests: 2,
  },
  {
    name: 'reactive_compact_retry (L24)',
    replies: [
      large(),
      large(),
      large(),
      large(),
      fault({ too_long: true }),
      reply('The files were read.'),
      reply('Done.'),
    ],
    config: noCollapse,
    transitions: ['next_turn', 'next_turn', 'next_turn', 'next_turn', 'reactive_compact_retry'],
    reason: 'completed',
    turns: 5,
    requests: 7,
  },
  {
    name: 'reactive_compact_retry after the picture that a tool showed was refused (L24 L85)',
    replies: [
      reply([toolUse('read', { path: 'picture.png' })]),
      fault({ media_too_large: true }),
      reply('A picture was looked at.'),
      reply('Done.'),
    ],
    config: noCollapse,
    transitions: ['next_turn', 'reactive_compact_retry'],
    reason: 'completed',
    turns: 2,
    requests: 4,
  },
  {
    name: 'collapse_drain_retry (L9 L23)',
    replies: [
      large(),
      large(),
      large(),
      large(19_500),
      reply('The file was read.', { times: 2 }),
      fault({ too_long: true }),
      reply('Done.'),
    ],
    config: small,
    // Of a model that checks what stood before its thinking nothing is shown short in the middle.
    options: { model: 'claude-sonnet-5' },
    transitions: ['next_turn', 'next_turn', 'next_turn', 'next_turn', 'collapse_drain_retry'],
    reason: 'completed',
    turns: 5,
    requests: 8,
  },
  {
    name: 'blocking_limit when compaction is off and the window is full (L12)',
    replies: [large(31_000), reply('Never asked.')],
    config: { ...small, compaction: { enabled: false } },
    transitions: ['next_turn'],
    reason: 'blocking_limit',
    turns: 2,
    requests: 1,
  },
];
