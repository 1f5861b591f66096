// The descriptions of a session's updates in Temporal's clients.
import type { UPDATES } from '../contract/session.ts';

export const UPDATE_DESCRIPTIONS: Readonly<Record<keyof typeof UPDATES, string>> = {
  approve:
    'Allows a call that waits: {"call": "…", "inputHash": "…"}, both as the query `view` has them under `approvals`.',
  deny: 'Denies a call that waits: {"call": "…", "reason": "…"}. With "interrupt": true it ends the run.',
  answer: 'Answers a question: {"call": "…", "by": "ana", "body": {"kind": "text", "text": "…"}}.',
  giveResult:
    'Gives an outside call its result: {"call": "1.2.0", "result": {"body": {"kind": "text", "text": "…"}}}; "isError" says that it failed.',
  reportWorkers:
    'Notes for people that items of work in a row had workers without a heartbeat: {"work": "work_…", "items": 5}.',
  rewind:
    'Goes back to an earlier point, with the conversation, the files or both: {"from": "…", "to": "…", "files": […]}.',
  previewRewind: 'Says what a rewind of files would do, and does nothing: {"from": "…", "files": […]}.',
  repair: 'Goes on from an earlier head of a damaged transcript: {"from": "…", "to": "…", "lost": "…"}.',
  setOptions: 'Changes the options of the next run, such as {"maxTurns": 50}; null takes one back.',
  topUp:
    'Raises limits of the run under way: {"maxTurns": 80, "maxBudgetUsd": 5}. With "exact": true it also sets and lowers them.',
  changeRules:
    'Allows more calls of the run under way: {"allow": ["bash(npm test)"]}; "drop" takes such rules back, and "lasts": "session" keeps them.',
  move: 'Moves the session with its folders to another host: {} or {"to": {"id": "…", "name": "…"}}.',
  aside: 'Asks the model aside; nothing of it is stored: {"question": "…"}.',
};
