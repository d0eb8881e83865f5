export { Definitions as default, Outbound } from '../../src/stored.ts'
