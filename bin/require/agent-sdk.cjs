// `require('perdure/agent-sdk')`.
'use strict';
require('./node.cjs');
module.exports = require('../../dist/client/agent-sdk/index.js');
