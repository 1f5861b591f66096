// Types of `require('perdure/tool')`.
export * from '../../dist/activities/tools/tool.js';
