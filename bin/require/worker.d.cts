// Types of `require('perdure/worker')`.
export * from '../../dist/worker/index.js';
