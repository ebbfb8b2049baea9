export * from "./generator";
export * from "./intervals";
export * from "./measures";
export * from "./paired";
