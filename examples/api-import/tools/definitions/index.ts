export { Definitions as default, Outbound } from 'edgecall/stored'
