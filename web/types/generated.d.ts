// Modules that build.mjs writes, or that esbuild reads as a style sheet.
declare module "kernelwright:licences" {
  export const licences: { name: string; version: string; licence: string; text: string }[];
}
declare module "*.css";
