export { Definitions as default } from '../../src/stored.ts'
