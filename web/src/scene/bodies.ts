// Draws the bodies of figures: one set of instances for each pose and level of detail.

import { Color, Euler, Matrix4, Quaternion, Vector3 } from 'three';
import type { Material, Object3D } from 'three';
import type { Condition, Figure, Theme } from '../stage';
import type { Actor } from './cast';
import { InstancedThings, fill } from './instances';
import { chooseDetails } from './lod';
import { figureDepthMaterial, figureMaterial } from './materials';
import type { SharedUniforms } from './materials';
import { COLOR, SECTORS } from './palette';
import type { Triple } from './palette';
import { POSE_TOP, buildFigure } from './robe';
import type { Detail, Pose } from './robe';
import { mixed, triple } from './mesh-builder';
import { zoneOf } from './layout';

const FIELDS = { robe: 3, trim: 3, skin: 3, light: 3, effect: 4 };
const FORK_OPACITY = 0.55;

interface Dress {
  readonly robe: Triple;
  readonly trim: Triple;
  readonly skin: Triple;
  readonly light: Triple;
}

function robeColor(figure: Figure, theme: Theme): Color {
  const isNight = theme === 'night';
  if (figure.condition === 'ran_dry') return new Color(isNight ? '#767B88' : '#8F8F90');
  if (figure.condition === 'failed') return new Color('#A6242F');
  if (figure.condition === 'cancelled') return new Color(isNight ? '#8D8C90' : '#A39D94');
  if (figure.depth === 0) return new Color(COLOR.ivory);
  const zone = zoneOf(figure);
  const own = zone === 'workshop' ? '#8F97A8' : SECTORS[zone].color;
  const robe = mixed(own, '#141A2C', isNight ? 0.12 : 0.05);
  return figure.condition === 'done' ? robe.lerp(new Color('#B9B2A6'), 0.28) : robe;
}

function trimColor(figure: Figure): string {
  if (figure.condition === 'ran_dry') return '#9B968C';
  if (figure.condition === 'failed') return '#3A1218';
  return figure.depth === 0 ? COLOR.brass : '#E9DDC6';
}

const SKIN: Readonly<Partial<Record<Condition, string>>> = { ran_dry: '#B9AD9B', failed: '#D9B7A6' };

/** Colours are worked out once for each kind of figure. */
class Wardrobe {
  private readonly known = new Map<string, Dress>();

  constructor(private readonly theme: Theme) {}

  dress(figure: Figure): Dress {
    const key = `${figure.depth === 0 ? 'root' : zoneOf(figure)}/${figure.condition}`;
    const known = this.known.get(key);
    if (known) return known;
    const light = figure.depth === 0 ? COLOR.lantern : SECTORS[zoneOf(figure)].color;
    const dress: Dress = {
      robe: triple(robeColor(figure, this.theme)),
      trim: triple(trimColor(figure)),
      skin: triple(SKIN[figure.condition] ?? COLOR.skin),
      light: triple(mixed(light, '#FFFFFF', 0.35)),
    };
    this.known.set(key, dress);
    return dress;
  }
}

export class Bodies {
  private readonly sets = new Map<string, InstancedThings>();
  private readonly material: Material;
  private readonly depthMaterial: Material;
  private wardrobe = new Wardrobe('night');
  private readonly matrix = new Matrix4();
  private readonly euler = new Euler(0, 0, 0, 'YXZ');
  private readonly turn = new Quaternion();
  private readonly at = new Vector3();
  private readonly size = new Vector3();
  private heights: number[] = [];
  private readonly effect: number[] = [];

  constructor(shared: SharedUniforms) {
    this.material = figureMaterial(shared);
    this.depthMaterial = figureDepthMaterial();
  }

  setTheme(theme: Theme): void {
    this.wardrobe = new Wardrobe(theme);
  }

  /** Sets are built when a figure first needs them. */
  private setFor(pose: Pose, detail: Detail, onNew: (object: Object3D) => void): InstancedThings {
    const key = `${pose}/${detail}`;
    const known = this.sets.get(key);
    if (known) return known;
    const made = new InstancedThings(buildFigure(pose, detail), this.material, FIELDS);
    made.mesh.castShadow = detail === 'near';
    made.mesh.receiveShadow = true;
    made.mesh.customDepthMaterial = this.depthMaterial;
    this.sets.set(key, made);
    onNew(made.mesh);
    return made;
  }

  update(actors: readonly Actor[], onNew: (object: Object3D) => void): void {
    for (const set of this.sets.values()) set.clear();
    this.heights.length = actors.length;
    actors.forEach((actor, i) => {
      this.heights[i] = actor.isRoot ? 1e6 : actor.screen.isVisible ? actor.screen.unit * 1.7 : 0;
    });
    const details = chooseDetails(this.heights);
    actors.forEach((actor, i) => {
      actor.detail = details[i] ?? 'far';
      if (!actor.isPresent || actor.figure.condition === 'refused') return;
      if (!actor.screen.isVisible && actors.length > 200) return;
      const { detail } = actor;
      // Far away only three outlines can be told apart.
      const pose = detail === 'far' && actor.pose !== 'bow' && actor.pose !== 'heap' ? 'stand' : actor.pose;
      this.addBody(this.setFor(pose, detail, onNew), actor);
    });
    for (const set of this.sets.values()) set.finish();
  }

  private addBody(set: InstancedThings, actor: Actor): void {
    const { figure } = actor;
    const hasFailed = figure.condition === 'failed' && !actor.isRoot;
    this.euler.set(hasFailed ? -0.2 : 0, actor.facing, actor.sway + (hasFailed ? 0.16 : 0));
    this.turn.setFromEuler(this.euler);
    this.at.set(actor.x, actor.y + actor.lift + (hasFailed ? 0.05 : 0), actor.z);
    this.size.setScalar(actor.scale);
    this.matrix.compose(this.at, this.turn, this.size);
    const dress = this.wardrobe.dress(figure);
    const isRising = actor.portalOpen > 0;
    const clip = isRising ? actor.y + 0.015 : -1e6;
    const light = isRising ? actor.portalOpen : 0;
    const effect = fill(this.effect, clip, figure.isFork ? FORK_OPACITY : 1, light, actor.isSelected ? 2.2 : 1);
    set.add(this.matrix, dress.robe, dress.trim, dress.skin, dress.light, effect);
  }

  /** The highest point of a body, above the floor. */
  static top(actor: Actor): number {
    return POSE_TOP[actor.pose] * actor.scale + actor.lift;
  }

  dispose(): void {
    for (const set of this.sets.values()) set.dispose();
    this.material.dispose();
    this.depthMaterial.dispose();
  }
}
