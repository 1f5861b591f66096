// Reads what a session did: its stored transcript, and what the server's history tells of its
// steps, agents and commands in the background.
export { fullTranscript, transcriptParts } from '../render/full-transcript.ts';
export { newsLines } from '../render/session-news.ts';
export { readWholeResult, sessionJson } from '../sessions/dump.ts';
export { findLastDecision } from '../sessions/find/last-decision.ts';
export { backgroundCommands, backgroundReader, findBackgroundCommands } from '../sessions/history/background.ts';
export { readLeftBehind } from '../sessions/history/left-behind.ts';
export { readOpenAgents } from '../sessions/history/open-agents.ts';
export { readStartOptions, stepReader } from '../sessions/history/steps.ts';
export { readTimeline } from '../sessions/history/timeline.ts';
export { beginsAt, readLastWords, transcriptReader } from '../sessions/transcript-reader.ts';
export { headOf } from '../sessions/newest-head.ts';
export { readSession } from '../sessions/read.ts';
export { createConfigReader, defaultBackoff } from '../../store/configuration.ts';
