// The operations on sessions, in the order of docs/openapi.v1.json.
import { fork, rewind, snip, undoRewind } from './conversation.ts';
import { answer, approve, deny } from './decisions.ts';
import { askAside, send } from './messages.ts';
import type { Operation } from './operation.ts';
import { changeRules, setOptions, topUp } from './run-changes.ts';
import { cancel, interrupt, resume } from './stops.ts';

const table = {
  send,
  fork,
  interrupt,
  resume,
  cancel,
  topUp,
  changeRules,
  setOptions,
  askAside,
  snip,
  rewind,
  undoRewind,
  approve,
  deny,
  answer,
};

export type OperationName = keyof typeof table;

export const operations: readonly Operation[] = Object.values(table);
