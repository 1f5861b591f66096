// The operations on sessions, in the order of docs/openapi.v1.json.
import type { PerdureClient } from '../perdure-client.ts';
import { fork, rewind, snip, undoRewind } from './conversation.ts';
import { answer, approve, deny } from './decisions.ts';
import type { Operation } from './operation.ts';
import { askAside, cancel, changeRules, interrupt, move, resume, send, setOptions, topUp } from './steering.ts';

export const operations = {
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
  move,
  approve,
  deny,
  answer,
};

export type OperationName = keyof typeof operations;

type Results = { readonly [Name in OperationName]: { run(...values: never): ReturnType<PerdureClient[Name]> } };

/** The same as a list. The compiler holds each result to that of the method. */
export const operationList: readonly Operation[] = Object.values(operations satisfies Results);
