// Types of `require('perdure/plugin')`.
export * from '../../dist/worker/plugin/perdure-plugin.js';
